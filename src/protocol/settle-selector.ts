/** `settle(address[],uint256[],(…)[],(…)[][3])` (GPv2Settlement.sol). */
export const SETTLE_SELECTOR = '0x13d79a0b';

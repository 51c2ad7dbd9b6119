/** Published packages for flash loans. They need older versions of the SDK, so only their test installs them. */
export const FLASH_LOAN_PACKAGES: Readonly<Record<string, string>> = {
  '@cowprotocol/sdk-flash-loans': '1.7.4',
  '@cowprotocol/sdk-viem-adapter': '0.3.17',
};

export { amountIn, amountOut } from '#internal';
export { type ConstantProductOptions, constantProduct, type Pool } from './constant-product.ts';
export { type FixedPrice, type FixedPricesOptions, fixedPrices } from './fixed-prices.ts';
export { type HttpSolverOptions, httpSolver } from './http-solver.ts';
export { type CallClient, type UniswapV2Options, uniswapV2 } from './uniswap-v2.ts';

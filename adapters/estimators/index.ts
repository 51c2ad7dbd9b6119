export { type ConstantProductOptions, constantProduct } from './constant-product.ts';
export { type FixedPrice, type FixedPricesOptions, fixedPrices } from './fixed-prices.ts';
export { type HttpSolverOptions, httpSolver } from './http-solver.ts';
export { amountIn, amountOut, type Pool } from './pool.ts';
export { type CallClient, type UniswapV2Options, uniswapV2 } from './uniswap-v2.ts';

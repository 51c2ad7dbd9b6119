export type { DriverEstimatorOptions } from './driver-estimator.ts';
export { driverEstimator } from './driver-estimator.ts';
export type { HttpDriverOptions } from './http-driver.ts';
export { httpDriver } from './http-driver.ts';

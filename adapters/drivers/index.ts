export { type DriverEstimatorOptions, driverEstimator } from './driver-estimator.ts';
export { type HttpDriverOptions, httpDriver } from './http-driver.ts';

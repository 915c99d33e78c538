/** In CI a part of what takes long is tried, so that all suites together take less than half an hour. */
export const isCi = process.env['CI'] === 'true'

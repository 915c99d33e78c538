/** `WHOLE=1`: suites run all of what they can, for `npm run assurance`. As a rule they run a short part of it. */
export const isWhole = process.env['WHOLE'] === '1'

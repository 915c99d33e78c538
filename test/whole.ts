/** Whether suites run all of their cases (`WHOLE=1`), as for `npm run assurance`. By default, they run only some of them. */
export const isWhole = process.env['WHOLE'] === '1'

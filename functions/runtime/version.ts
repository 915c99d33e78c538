import packageJson from '../../package.json' with { type: 'json' }

/** The program's version, as health and the command line report it. */
export const VERSION: string = packageJson.version

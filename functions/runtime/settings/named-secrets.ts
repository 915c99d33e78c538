/** `${secret:NAME}` in a setting: an environment variable on one machine, a field of the deployment's secret on AWS. */
const NAMED = /\$\{secret:([A-Za-z_][A-Za-z0-9_]*)\}/g

/** The names of the secrets in a setting. */
export const secretNames = (text: string): string[] => [...text.matchAll(NAMED)].map(([, name = '']) => name)

/** The setting with its secrets in place. Throws, with the name, for one that is missing or empty: never an empty text. */
export function withSecrets(text: string, secret: (name: string) => string | undefined): string {
  return text.replaceAll(NAMED, (_, name: string) => {
    const value = secret(name)
    if (value === undefined || value === '') throw new Error(`there is no secret ${name}`)
    return value
  })
}

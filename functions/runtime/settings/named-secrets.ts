/**
 * Matches `${secret:NAME}` in a setting. On AWS, NAME is a field of the deployment's secret. If the program runs on one
 * machine, NAME is an environment variable.
 */
const NAMED = /\$\{secret:([A-Za-z_][A-Za-z0-9_]*)\}/g

/** Returns the names of the secrets in a setting. */
export const secretNames = (text: string): string[] => [...text.matchAll(NAMED)].map(([, name = '']) => name)

/**
 * Replaces the secrets in a setting by their values. If a secret is missing or empty, throws an error that names it,
 * and never inserts an empty text.
 */
export function withSecrets(text: string, secret: (name: string) => string | undefined): string {
  return text.replaceAll(NAMED, (_, name: string) => {
    const value = secret(name)
    if (value === undefined || value === '') throw new Error(`there is no secret ${name}`)
    return value
  })
}

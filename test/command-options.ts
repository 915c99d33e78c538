import { parseArgs } from 'node:util'
import type { ParseArgsOptionsConfig } from 'node:util'

type Values<Options extends ParseArgsOptionsConfig> = ReturnType<typeof parseArgs<{ options: Options }>>['values']

/**
 * Parses the options of a command with `read`. `--help` prints the usage and ends the process. An invalid option causes
 * one line that names the option, and exit code 2.
 */
export function readOptions<const Options extends ParseArgsOptionsConfig, Read>(
  usage: string,
  options: Options,
  read: (values: Values<Options>) => Read,
): Read {
  const words = process.argv.slice(2)
  if (words.includes('--help') || words.includes('-h')) {
    process.stdout.write(usage)
    process.exit()
  }
  try {
    return read(parseArgs({ args: words, options }).values)
  } catch (error) {
    process.stderr.write(`${(error as Error).message.replace(/\.?$/, '.')} Run with --help to see what it takes.\n`)
    process.exit(2)
  }
}

/** Parses the value of an option as a whole number. Throws an error that names the option if `text` is no such number. */
export function wholeNumber(name: string, text: string, least = 0): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number) || number < least)
    throw new Error(`--${name} needs a whole number of at least ${least}, not '${text}'`)
  return number
}

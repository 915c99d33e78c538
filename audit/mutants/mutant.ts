/** One change of the program that a suite must detect. The text `from` occurs exactly once in the file. */
export interface Mutant {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
}

/** Builds the mutants of one file from tuples of name, original text and replacement. */
export const inFile = (
  file: string,
  changes: readonly (readonly [name: string, from: string, to: string])[],
): Mutant[] =>
  changes.map(([name, from, to]) => ({
    name: `${file.replace(/^functions\//, '').replace(/\.ts$/, '')}: ${name}`,
    file,
    from,
    to,
  }))

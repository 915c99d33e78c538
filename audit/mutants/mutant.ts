/** One change of the program that something must notice: `from` stands in the file exactly once. */
export interface Mutant {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
}

/** The mutants of one file: what each is called, what stands there, and what stands there instead. */
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

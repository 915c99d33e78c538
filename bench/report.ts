/** Prints rows as a table with a title. Every column is as wide as its widest cell. */
export function printTable(
  title: string,
  header: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): void {
  const cells = [header, ...rows].map((row) => row.map((cell) => (typeof cell === 'number' ? shown(cell) : cell)))
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  console.log(`\n${title}`)
  for (const row of cells)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}

const shown = (value: number): string => (Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 3 : 1))

/** Returns a quantile of the values. `share` (0 to 1) is the share of the values that are less than the quantile. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Returns the milliseconds that `work` takes. */
export async function timed(work: () => unknown): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

import { Session } from 'node:inspector/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Executes a run with one tool call in this process, with the test harness. Returns the files below `root` in which at
 * least one function was executed, according to V8's precise coverage. The top level of a module does not count as a
 * function.
 */
export async function executedFiles(root: string): Promise<string[]> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await executeRun()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  return result
    .filter(({ url, functions }) => url.startsWith('file:') && functions.slice(1).some(wasCalled))
    .map(({ url }) => relative(root, fileURLToPath(url)))
    .toSorted()
}

const wasCalled = ({ ranges }: { readonly ranges: readonly { readonly count: number }[] }): boolean =>
  ranges.some(({ count }) => count > 0)

async function executeRun(): Promise<void> {
  // Imported after the coverage has begun, because the coverage includes only modules that are loaded later.
  const { makeTool, openHarness } = await import('../../test/agent/harness.ts')
  const tool = makeTool('look', async () => ({ text: 'found' }))
  const harness = await openHarness({ script: [{ calls: [{ name: 'look' }] }, { text: 'Done.' }], tools: [tool] })
  try {
    const run = await harness.settled(await harness.submit('Look.'))
    if (run.status !== 'completed') throw new Error(`the run ended ${run.status}`)
  } finally {
    await harness.close()
  }
}

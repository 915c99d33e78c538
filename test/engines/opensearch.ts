import { join } from 'node:path'
import { cacheFolder } from './cache.ts'
import { freePort, makeScratch, startProcess } from './process.ts'
import type { Engine } from './process.ts'

/** Version of the distribution and its modules. The pom beside the script names it, too. */
const VERSION = '3.3.2'
/** The first start downloads 165 MB. */
const START_MS = 900_000

/** Starts a real single-node OpenSearch without the security plugin. The first use installs it. */
export async function startOpensearch(): Promise<Engine> {
  const [scratch, port] = await Promise.all([makeScratch('opensearch'), freePort()])
  return startProcess({
    name: 'OpenSearch',
    port,
    scratch,
    command: join(import.meta.dirname, 'opensearch', 'start-opensearch.sh'),
    args: [String(port), join(scratch, 'node')],
    env: { OPENSEARCH_DIST: join(cacheFolder(), `opensearch-${VERSION}`) },
    timeoutMs: START_MS,
    healthy: async (endpoint) => (await fetch(`${endpoint}/_cluster/health?wait_for_status=yellow&timeout=1s`)).ok,
  })
}

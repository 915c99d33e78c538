import { inFile } from './mutant.ts'

const MCP = 'functions/adapters/mcp'

/** What keeps foreign servers within bounds, and a run with its tools. */
export const MCP_MUTANTS = [
  ...inFile(`${MCP}/tool-registry.ts`, [
    [
      'what was declared is not kept',
      "if (run === undefined || run.as === 'looks') return",
      'if (run !== null) return',
    ],
    [
      'a server that is down ends the run',
      '    run?.absent(`MCP server ${server.name}: its tools are absent: ${reasonOf(error)}`)\n',
      '    throw error\n',
    ],
    ['every call may run again', 'declared.repeatable ||', 'true ||'],
    ['an error is quoted whole', '.slice(0, MOST_ERROR)', ''],
  ]),
  ...inFile(`${MCP}/connection.ts`, [
    ['a list counts for good', 'clock.now() < listing.until', 'clock.now() !== 0'],
    ['a change is not heard', 'changed: () => (listing = undefined)', 'changed: () => undefined'],
    ['a list is waited for', 'await Promise.race([listed, late])', 'await listed'],
    ['the stream of a call outlives it', 'signal: callSignal.getStore() }', 'signal: undefined }'],
    ['pages of a list have no end', 'listMaxPages: MOST_PAGES', 'listMaxPages: 0'],
  ]),
  ...inFile(`${MCP}/listed-tools.ts`, [
    ['a list has no end', 'tools.size >= MOST_TOOLS || ', ''],
    ['two tools have one name', ' || tools.has(tool.name)', ''],
  ]),
  ...inFile(`${MCP}/tool-names.ts`, [['names are as servers choose', 'FITS.test(whole) && ', '']]),
  ...inFile('functions/tools/guarded-fetch.ts', [
    ['a response has no end', 'if (bytes > most)', 'if (bytes < 0)'],
    ['names may lead inside', 'agent: useAgent(url.href), lookup: withoutInternal([], lookup)', 'lookup'],
  ]),
  ...inFile('functions/tools/allowed-hosts.ts', [
    [
      'plain http goes everywhere',
      "url.protocol === 'http:' && !isAllowedHost(url, allowedHosts)",
      'allowedHosts === undefined',
    ],
  ]),
]

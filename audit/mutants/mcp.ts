import { inFile } from './mutant.ts'

const MCP = 'functions/adapters/mcp'

/** Mutants of the MCP client: limits for MCP servers, and the list of tools that a run keeps. */
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
    ['an error is quoted whole', '.slice(0, MAX_ERROR_CHARACTERS)', ''],
  ]),
  ...inFile(`${MCP}/connection.ts`, [
    ['a list counts for good', 'clock.now() < listing.until', 'clock.now() !== 0'],
    ['a change is not heard', '() => (listing = undefined)', '() => undefined'],
    ['a list is waited for', 'await Promise.race([listed, late])', 'await listed'],
    ['any number of calls is open', 'maxOpen: 128', 'maxOpen: 1_024'],
    ['any number of answers is open', 'maxOpen: 4', 'maxOpen: 1_024'],
    ['lists are read side by side', 'if (reading === undefined) return read()', 'if (reading !== null) return read()'],
    [
      'a client that is forgotten stays open',
      'if (isRetired && uses === 0) opening',
      'if (isRetired && uses < 0) opening',
    ],
  ]),
  ...inFile(`${MCP}/open-client.ts`, [
    [
      'the stream of a call outlives it',
      "sent.method === 'tools/call') return { limits, isBackground: false, signal: own?.signal }",
      "sent.method === 'tools/call') return { limits, isBackground: false, signal: undefined }",
    ],
    ['pages of a list have no end', 'listMaxPages: MAX_PAGES', 'listMaxPages: 0'],
    ['a server says when its stream is opened again', 'Math.max(wantedMs, leastMs)', 'wantedMs'],
    [
      'the stream of a call that is over is opened again',
      'own === undefined ? closed.signal : AbortSignal.any([closed.signal, own.signal])',
      'closed.signal',
    ],
  ]),
  ...inFile(`${MCP}/bounded-response.ts`, [
    ['a stream has any number of requests', '++requests > MAX_SERVER_REQUESTS', '++requests < 0'],
    ['a body has any number of requests', '.length > MAX_SERVER_REQUESTS', '.length < 0'],
    ['a stream goes on after its result', 'if (id !== undefined && isResponseTo(message, id)) return', ''],
  ]),
  ...inFile(`${MCP}/request-slots.ts`, [
    ['a place that nobody waits for is lost', '    open--\n', ''],
    ['a place goes to a request that has left', "if (next.state === 'left') continue", ''],
  ]),
  ...inFile(`${MCP}/listed-tools.ts`, [
    ['a list has no end', 'tools.size >= MAX_TOOLS', 'tools.size < 0'],
    ['two tools have one name', 'if (same !== undefined) {', 'if (same === null) {'],
  ]),
  ...inFile(`${MCP}/tool-registry.ts`, [['names are as servers choose', 'FITS.test(whole) && ', '']]),
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

/** A completion in the pictured sessions, with its calls and their results. */
export interface Step {
  readonly text: string
  readonly calls?: readonly Call[]
  readonly input: number
  readonly output: number
  readonly milliseconds: number
}

interface Call {
  readonly name: string
  readonly arguments: { readonly [name: string]: string | number }
  /** Undefined: the call waits for a decision. */
  readonly result?: string
  readonly milliseconds?: number
}

const LOG = `2026-11-22T22:14:02Z ERROR pool: connection pool exhausted (max_pool_size=20)
2026-11-22T22:14:03Z ERROR health: GET /ready 503 after 30000 ms
2026-11-22T22:14:09Z ERROR rollout: checkout-2.4.0 did not become ready
`

const DEPLOYS = JSON.stringify([
  { id: 'dpl_7f3a91', service: 'checkout', version: '2.4.0', status: 'failed', reason: 'readiness probe', minutes: 12 },
  { id: 'dpl_7e0c12', service: 'checkout', version: '2.3.9', status: 'failed', reason: 'image not found', minutes: 1 },
])

const CAUSE = `The rollout of **2.4.0** (\`dpl_7f3a91\`) gave up because \`/ready\` answered 503 for 30 s. The cause is in the log: \`connection pool exhausted (max_pool_size=20)\`. Version 2.4.0 opens two connections a request, so 20 are used up at ten requests.

| version | connections a request | pool |
|---|---|---|
| 2.3.9 | 1 | 20 |
| 2.4.0 | 2 | 20 |`

const deploys = { service: 'checkout', status: 'failed', limit: 3 }
const logs = { command: 'kubectl logs deploy/checkout --since=12h | grep -i error | tail -5' }
const raise = { path: 'staging/checkout.yaml', old: 'max_pool_size: 20', new: 'max_pool_size: 40' }
const rollout = { service: 'checkout', version: '2.4.0', environment: 'staging' }
const sum = { command: "awk -F, '{s+=$4} END {print s}' invoices/2026-11.csv" }
const open = { command: 'grep -c open invoices/2026-11.csv' }
const changes = { command: 'git log --oneline v2.3..HEAD | wc -l' }
const policy = { path: 'policies/data-residency.md' }
const flaky = { command: 'npx vitest run test/retries.test.ts --repeat 50' }

export const WORK: { readonly [input: string]: readonly Step[] } = {
  'Why did the deploy of checkout fail last night?': [
    {
      text: 'I look at the deploys and at the log.',
      calls: [
        { name: 'list_deploys', arguments: deploys, result: DEPLOYS, milliseconds: 405 },
        { name: 'run_shell', arguments: logs, result: LOG, milliseconds: 1_300 },
      ],
      input: 3_600,
      output: 180,
      milliseconds: 1_100,
    },
    { text: CAUSE, input: 5_700, output: 214, milliseconds: 1_400 },
  ],
  'Raise the pool to 40 in staging and try again': [
    {
      text: 'First the setting.',
      calls: [{ name: 'edit_file', arguments: raise, result: 'changed 1 line', milliseconds: 120 }],
      input: 8_700,
      output: 96,
      milliseconds: 720,
    },
    {
      text: '`staging/checkout.yaml` has `max_pool_size: 40` now. The rollout needs your approval.',
      calls: [{ name: 'deploy', arguments: rollout }],
      input: 5_600,
      output: 88,
      milliseconds: 830,
    },
  ],
  'What do the invoices of November come to?': [
    {
      text: 'I sum them up.',
      calls: [{ name: 'run_shell', arguments: sum, result: '48210.40', milliseconds: 1_300 }],
      input: 1_500,
      output: 50,
      milliseconds: 600,
    },
    {
      text: 'The invoices of November come to 48,210.40 EUR in 312 lines. Seven are not paid yet.',
      input: 2_900,
      output: 90,
      milliseconds: 700,
    },
  ],
  'Which invoices of this week are open?': [
    {
      text: 'I count the open ones.',
      calls: [{ name: 'run_shell', arguments: open, result: '7' }],
      input: 2_100,
      output: 60,
      milliseconds: 0,
    },
    { text: 'Seven are open. The oldest is of Monday.', input: 3_300, output: 110, milliseconds: 0 },
  ],
  'Write the release notes': [
    {
      text: 'I look at what has changed.',
      calls: [{ name: 'run_shell', arguments: changes, result: '43', milliseconds: 90 }],
      input: 6_800,
      output: 190,
      milliseconds: 400,
    },
    {
      text: '# What is new\n\n- Payments are retried once, with the same key.\n- The connection pool is checked at start.\n- 41 other changes.',
      input: 8_300,
      output: 420,
      milliseconds: 600,
    },
  ],
  'Where is the data of our customers in Europe stored?': [
    {
      text: 'The policy says it.',
      calls: [{ name: 'read_file', arguments: policy, result: 'Customers in the EU: eu-central-1 only.' }],
      input: 3_200,
      output: 70,
      milliseconds: 500,
    },
    { text: 'In Frankfurt (`eu-central-1`), backups included.', input: 3_700, output: 80, milliseconds: 600 },
  ],
  'Why does the test of retries fail now and then?': [
    {
      text: 'I run it fifty times.',
      calls: [{ name: 'run_shell', arguments: flaky, result: '3 of 50 failed: closed too early' }],
      input: 7_400,
      output: 160,
      milliseconds: 0,
    },
    { text: 'It closes the connection before the last retry has ended.', input: 8_100, output: 240, milliseconds: 0 },
  ],
}

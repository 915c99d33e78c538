import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CONTEXT_MUTANTS } from './context.ts'
import { COST_MUTANTS } from './costs.ts'
import { DELIVERY_MUTANTS } from './delivery.ts'
import { DYNAMODB_MUTANTS } from './dynamodb.ts'
import { HISTORY_MUTANTS, PROJECTION_MUTANTS } from './history.ts'
import { LOOP_MUTANTS } from './loop.ts'
import { MCP_MUTANTS } from './mcp.ts'
import type { Mutant } from './mutant.ts'
import { nearestTo } from './nearest.ts'
import { STEP_MUTANTS, TEAM_STEP_MUTANTS } from './next-step.ts'
import { IMPORT_MUTANTS, OUTSIDE_MUTANTS } from './outside.ts'
import { PROCESS_MUTANTS } from './processes.ts'
import { ROUND_MUTANTS } from './rounds.ts'
import { RUN_WRITER_MUTANTS, SHARED_WRITER_MUTANTS } from './run-writer.ts'
import { SERVING_MUTANTS } from './serving.ts'
import { SQLITE_MUTANTS } from './sqlite.ts'
import { TEAM_MUTANTS } from './teams.ts'

/** A command that fails if it detects a mutant. */
export interface Suite {
  readonly name: string
  readonly command: readonly string[]
}

const simulated = (name: string, from: number, seeds: number, store = 'memory'): Suite => ({
  name,
  command: [
    ...['node', 'audit/simulator/simulate.ts', '--store', store],
    ...['--from', String(from), '--seeds', String(seeds), '--whole'],
  ],
})
/** Seeds that run first. They detect most mutants that the simulator can detect, and take only a few seconds. */
const firstSeeds = simulated('simulator', 1, 20)
const otherSeeds = simulated('simulator', 21, 280)
/**
 * Seeds for DynamoDB, on which each request is a step. Seeds 7 and 12 have a backlog, and take longer than all others
 * together. So only seeds 1 to 6 and 13 to 22 run.
 */
const firstOnDynamodb = simulated('simulator on DynamoDB', 1, 6, 'dynamodb')
const otherOnDynamodb = simulated('simulator on DynamoDB', 13, 10, 'dynamodb')
const vitest = (name: string, ...paths: readonly string[]): Suite => ({
  name,
  command: ['vitest', 'run', '--bail', '1', ...paths],
})
/**
 * Suites of test/agent that take longer than all others together. They seldom detect a mutant that the other suites do
 * not detect.
 */
const LONG = [
  'service/continue',
  'loop/context/context.property',
  'loop/context/context-budget',
  'loop/context/consolidation',
  'loop/sources/sources',
  'media',
].map((name) => `test/agent/${name}.test.ts`)
const agent: Suite = vitest('agent', 'test/agent', ...LONG.map((path) => `--exclude=${path}`))
const engine = ['vitest', 'run', '--project=engines', '--bail', '1'] as const
const engines: Suite = {
  name: 'DynamoDB Local',
  command: [
    ...engine,
    'test/adapters/dynamodb/contracts.engine',
    'test/adapters/dynamodb/races/schedules.engine',
    'test/adapters/dynamodb/races/faults.engine',
    'test/adapters/dynamodb/runs/interlopers.engine',
    'test/adapters/dynamodb/messages/imports-between.engine',
  ],
}
/** Suites that count requests to DynamoDB. */
const COSTS = ['sessions/lists/session-list', 'runs/steering-cost', 'runs/follow-cost']

/** Each list of mutants with its suites. The suites run one after the other until one detects the mutant. */
export const LISTS: readonly { readonly mutants: readonly Mutant[]; readonly suites: readonly Suite[] }[] = [
  {
    mutants: [...LOOP_MUTANTS, ...ROUND_MUTANTS, ...RUN_WRITER_MUTANTS, ...STEP_MUTANTS],
    suites: [firstSeeds, agent, otherSeeds, vitest('agent, long', ...LONG)],
  },
  {
    mutants: [...TEAM_MUTANTS, ...SHARED_WRITER_MUTANTS, ...TEAM_STEP_MUTANTS],
    suites: [
      vitest('teams', 'test/agent/loop/members'),
      vitest('consolidation', 'test/agent/loop/context/consolidation'),
    ],
  },
  {
    mutants: CONTEXT_MUTANTS,
    suites: [
      vitest('log', 'test/log', 'test/agent/loop/context'),
      vitest(
        'context',
        ...['loop/decided-before', 'loop/sources', 'media', 'loop/takeover'].map((name) => `test/agent/${name}`),
      ),
    ],
  },
  {
    mutants: SERVING_MUTANTS,
    suites: [firstSeeds, agent, otherSeeds, vitest('HTTP', 'test/http', 'test/runtime/lambda')],
  },
  {
    mutants: [...SQLITE_MUTANTS, ...OUTSIDE_MUTANTS],
    suites: [
      firstSeeds,
      vitest('SQLite', 'test/adapters/sqlite/contracts.test.ts'),
      vitest(
        'SQLite, more',
        // Excludes the test that checks whether the source texts of guards occur in the program. It would fail for every mutant
        // that changes such a text.
        '--testNamePattern=^(?!.*occurs once in the adapter)',
        'test/adapters/sqlite/schedules.test.ts',
        'test/domain',
        'test/adapters/sqlite/log/shared-commit.test.ts',
        'test/adapters/sqlite/log/deletion-steps.test.ts',
        'test/adapters/sqlite/database.test.ts',
      ),
      otherSeeds,
    ],
  },
  {
    mutants: PROCESS_MUTANTS,
    suites: [vitest('processes', 'test/adapters/sqlite/process-lock.test.ts', 'test/runtime/local/ports.test.ts')],
  },
  { mutants: IMPORT_MUTANTS, suites: [vitest('imports', 'test/http/v1/transfer')] },
  {
    mutants: DELIVERY_MUTANTS,
    suites: [
      vitest(
        'deliveries',
        ...[
          'test/delivery',
          'test/ports',
          'test/channels/callbacks/callbacks.test.ts',
          'test/channels/slack/inbound/feedback.test.ts',
        ],
      ),
      vitest('outbox', 'test/adapters/sqlite/contracts.test.ts', '--testNamePattern=outbox|feedback'),
    ],
  },
  { mutants: MCP_MUTANTS, suites: [vitest('MCP', 'test/adapters/mcp')] },
  {
    mutants: DYNAMODB_MUTANTS,
    suites: [vitest('retry', 'test/adapters/dynamodb/retry.test.ts'), firstOnDynamodb, engines, otherOnDynamodb],
  },
  {
    mutants: COST_MUTANTS,
    suites: [
      vitest(
        'costs',
        'test/adapters/sqlite/log/deletion-steps',
        'test/adapters/sqlite/log/session-list',
        'test/adapters/dynamodb/keys',
        'test/agent/events',
      ),
      {
        name: 'costs on DynamoDB',
        command: [...engine, ...COSTS.map((name) => `test/adapters/dynamodb/${name}.engine`)],
      },
    ],
  },
  { mutants: HISTORY_MUTANTS, suites: [firstSeeds, otherSeeds, vitest('history', 'test/history', 'test/runtime')] },
  {
    mutants: PROJECTION_MUTANTS,
    suites: [
      firstSeeds,
      otherSeeds,
      vitest('projection', 'test/adapters/sqlite/history', 'test/adapters/sqlite/contracts'),
    ],
  },
]

/** Returns the suites of a mutant: the nearest ones first, then those of its list. */
export function suitesFor(mutant: Mutant, suites: readonly Suite[]): readonly Suite[] {
  const paths = nearestTo(mutant)
  return paths.length === 0 ? suites : [vitest('nearest', ...paths), ...suites]
}

/** Returns the text of the file with the mutant applied. Throws unless `from` occurs exactly once. */
export function mutated(root: string, { name, file, from, to }: Mutant): string {
  const pieces = readFileSync(join(root, file), 'utf8').split(from)
  if (pieces.length !== 2) throw new Error(`${name}: what it changes stands there ${pieces.length - 1} times`)
  return pieces.join(to)
}

/** Returns the reason why a mutant cannot be applied. Undefined if it can. */
export function missingIn(root: string, mutant: Mutant): string | undefined {
  try {
    mutated(root, mutant)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

import { basename } from 'node:path'
import type { Mutant } from './mutant.ts'

/** Suites of a few seconds, below test/agent, that notice most of what is changed in a file of the agent floor, by its name. */
const NEAREST: { readonly [file: string]: readonly string[] } = {
  'run-loop': ['loop/run-loop', 'loop/hand-over', 'pause-and-steer', 'cancel', 'team-stops'],
  'run-ending': ['loop/run-ending', 'cancel', 'takeover', 'loop/run-loop'],
  'open-run': ['loop/open-run', 'takeover', 'failing-store'],
  'open-thread': ['failing-store'],
  consolidate: ['takeover'],
  'lease-keeper': ['loop/lease-keeper', 'cancel'],
  'held-store': ['loop/held-store', 'failing-store'],
  context: ['loop/context.test', 'takeover'],
  'source-counter': ['sources'],
  'citations-at-end': ['sources'],
  'tool-batch': ['loop/run-loop', 'pause-and-steer', 'takeover'],
  completion: ['loop/completion', 'loop/run-loop', 'cut-off'],
  thread: ['loop/run-loop', 'failing-store', 'cut-off'],
  'tool-call': ['loop/tool-call', 'loop/run-loop', 'cancel'],
  'session-worker': ['serving/session-worker', 'loop/hand-over', 'takeover', 'cut-off'],
  glances: ['following/glances'],
  'event-feed': ['following/event-feed', 'following'],
  'run-end': ['following/glances'],
  'shared-reads': ['following/shared-reads'],
  sweeper: ['serving/sweeper', 'in-time'],
  resolutions: ['intake/create-agent-service', 'repeated-ids', 'pause-and-steer'],
  'create-agent-service': ['intake/create-agent-service', 'pause-and-steer', 'cancel'],
  'accept-run': ['intake/accept-run'],
  'delete-session': ['serving/deletion'],
  'expire-session': ['serving/deletion'],
  'serve-hint': ['serving/deletion'],
}

/** What is asked about a mutant before all suites of its list. */
export const nearestTo = ({ file }: Mutant): readonly string[] =>
  file.startsWith('functions/agent/') ? (NEAREST[basename(file, '.ts')] ?? []).map((name) => `test/agent/${name}`) : []

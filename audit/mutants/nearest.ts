import { basename } from 'node:path'
import type { Mutant } from './mutant.ts'

/** For each file of functions/agent, by its name: fast suites below test/agent that detect most mutants of the file. */
const NEAREST: { readonly [file: string]: readonly string[] } = {
  'run-loop': ['loop/run-loop', 'loop/hand-off', 'loop/pause-and-steer', 'loop/cancel', 'loop/members/team-stops'],
  'run-ending': ['loop/run-ending', 'loop/cancel', 'loop/takeover', 'loop/run-loop'],
  'open-run': ['loop/open-run', 'loop/takeover', 'loop/failing-store'],
  'open-thread': ['loop/failing-store'],
  consolidate: ['loop/takeover'],
  'lease-keeper': ['loop/writer/lease-keeper', 'loop/cancel'],
  'retrying-store': ['loop/writer/retrying-store', 'loop/failing-store'],
  context: ['loop/context/context.test', 'loop/takeover'],
  'source-counter': ['loop/sources'],
  'citations-at-end': ['loop/sources'],
  'next-step': ['loop/next-step', 'loop/run-loop', 'loop/pause-and-steer', 'loop/takeover'],
  'run-writer': ['loop/run-ending', 'loop/takeover', 'loop/pause-and-steer', 'loop/open-run'],
  'result-writer': ['loop/writer/result-writer', 'loop/failing-store'],
  'store-round': ['loop/run-loop', 'loop/pause-and-steer', 'loop/takeover'],
  'execute-calls': ['loop/newest-request', 'loop/run-loop', 'loop/pause-and-steer', 'loop/takeover'],
  'call-checks': ['loop/tools/call-checks', 'loop/run-loop', 'loop/pause-and-steer'],
  'strict-arguments': ['loop/tools/strict-arguments'],
  complete: ['loop/model/complete', 'loop/run-loop', 'loop/cut-off'],
  thread: ['loop/run-loop', 'loop/failing-store', 'loop/cut-off'],
  'tool-call': ['loop/tools/tool-call', 'loop/run-loop', 'loop/cancel'],
  'session-worker': ['worker/session-worker', 'loop/hand-off', 'loop/takeover', 'loop/cut-off'],
  'header-polling': ['events/header-polling'],
  'follow-run': ['events/follow-run', 'events'],
  'live-order': ['events/resuming'],
  'run-timeline': ['events/run-timeline', 'events/resuming'],
  'resume-point': ['events/resuming'],
  'event-sequence': ['loop/writer/event-sequence'],
  'resolved-calls': ['events/resuming', 'loop/newest-request'],
  'until-settled': ['events/header-polling'],
  'coalescing-reader': ['events/coalescing-reader'],
  sweeper: ['worker/sweeper'],
  resolutions: ['service/create-agent-service', 'loop/repeated-ids', 'loop/pause-and-steer'],
  'create-agent-service': ['service/create-agent-service', 'loop/pause-and-steer', 'loop/cancel'],
  'accept-run': ['service/accept-run'],
  'delete-session': ['worker/deletion'],
  'serve-hint': ['worker/deletion'],
}

/** Returns the suites nearest to the mutant's file. They run before all other suites listed for the mutant. */
export const nearestTo = ({ file }: Mutant): readonly string[] =>
  file.startsWith('functions/agent/') ? (NEAREST[basename(file, '.ts')] ?? []).map((name) => `test/agent/${name}`) : []

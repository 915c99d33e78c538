import { TooltrailError } from '../domain/errors.ts'
import { TimedOut, withinTime } from '../domain/time/time-limit.ts'
import type { LogImport } from './log-import.ts'
import type { LogReader } from './log-reader.ts'
import type { MessageFeedback } from './message-feedback.ts'
import type { Outbox } from './outbox.ts'
import type { OutputStore } from './output-store.ts'
import type { Received } from './received.ts'
import type { RunInbox } from './run-inbox.ts'
import type { RunLease } from './run-lease.ts'
import type { RunLog } from './run-log.ts'
import type { RunQueue } from './run-queue.ts'
import type { SessionDeletion } from './session-deletion.ts'
import type { SessionJanitor } from './session-janitor.ts'
import type { SessionNames } from './session-names.ts'
import type { SessionStore } from './session-store.ts'

/** Timeout of one operation of a store or the queue, including its adapter's retries. */
const OPERATION_MS = 30_000

/** Runs the operation within the time limit. After a timeout, the operation's outcome is unknown. */
async function limited<Result>(operation: () => Promise<Result>): Promise<Result> {
  try {
    return await withinTime(OPERATION_MS, 'the store', operation)
  } catch (error) {
    if (!(error instanceof TimedOut)) throw error
    throw new TooltrailError('storage_failed', error.message, { retryable: true, cause: error })
  }
}

const limitSessions = (port: SessionStore): SessionStore => ({
  create: (session) => limited(() => port.create(session)),
  read: (key) => limited(() => port.read(key)),
  living: (tenant, sessions) => limited(() => port.living(tenant, sessions)),
  readLabels: (tenant, sessions) => limited(() => port.readLabels(tenant, sessions)),
  findIds: (conditions) => limited(() => port.findIds(conditions)),
  list: (filter) => limited(() => port.list(filter)),
  update: (key, change) => limited(() => port.update(key, change)),
  describe: (key, about) => limited(() => port.describe(key, about)),
  recordTitle: (key, made) => limited(() => port.recordTitle(key, made)),
  summaryUnder: (key, idempotency) => limited(() => port.summaryUnder(key, idempotency)),
  recordSummary: (seen, made) => limited(() => port.recordSummary(seen, made)),
  bindToOwner: (key) => limited(() => port.bindToOwner(key)),
})

const limitInbox = (port: RunInbox): RunInbox => ({
  enqueue: (key, run) => limited(() => port.enqueue(key, run)),
  assertCapacity: (tenant, limits) => limited(() => port.assertCapacity(tenant, limits)),
  join: (key, runId, idempotency) => limited(() => port.join(key, runId, idempotency)),
  resolve: (key, runId, resolutions, request) => limited(() => port.resolve(key, runId, resolutions, request)),
  findClaim: (key, keyHash) => limited(() => port.findClaim(key, keyHash)),
  cancel: (key, runId) => limited(() => port.cancel(key, runId)),
})

const limitLease = (port: RunLease): RunLease => ({
  readHeader: (key) => limited(() => port.readHeader(key)),
  readHeaderEventually: (key) => limited(() => port.readHeaderEventually(key)),
  start: (seen, owner) => limited(() => port.start(seen, owner)),
  take: (seen, owner) => limited(() => port.take(seen, owner)),
  claim: (lease) => limited(() => port.claim(lease)),
  heartbeat: (lease, until) => limited(() => port.heartbeat(lease, until)),
  release: (lease) => limited(() => port.release(lease)),
})

const limitLog = (port: RunLog): RunLog => ({
  appendRound: (lease, round, account) => limited(() => port.appendRound(lease, round, account)),
  append: (lease, messages) => limited(() => port.append(lease, messages)),
  completeCall: (lease, result) => limited(() => port.completeCall(lease, result)),
  beginApproved: (lease, messageId) => limited(() => port.beginApproved(lease, messageId)),
  repair: (lease, messageIds, position) => limited(() => port.repair(lease, messageIds, position)),
  steer: (lease, run, messageId, position) => limited(() => port.steer(lease, run, messageId, position)),
  recordDecision: (lease, decision) => limited(() => port.recordDecision(lease, decision)),
  pause: (lease) => limited(() => port.pause(lease)),
  endRun: (lease, end, account) => limited(() => port.endRun(lease, end, account)),
})

const limitImports = (port: LogImport): LogImport => ({
  progress: (key, name) => limited(() => port.progress(key, name)),
  append: (seen, step) => limited(() => port.append(seen, step)),
})

const limitReader = (port: LogReader): LogReader => ({
  messages: (key, query) => limited(() => port.messages(key, query)),
  replacements: (key) => limited(() => port.replacements(key)),
  context: (key) => limited(() => port.context(key)),
  sources: (key, query) => limited(() => port.sources(key, query)),
  message: (key, id) => limited(() => port.message(key, id)),
  run: (key, id) => limited(() => port.run(key, id)),
  runs: (key, query) => limited(() => port.runs(key, query)),
  queued: (key, limit) => limited(() => port.queued(key, limit)),
  steering: (key, limit) => limited(() => port.steering(key, limit)),
})

const limitJanitor = (port: SessionJanitor): SessionJanitor => ({
  due: (now, limit) => limited(() => port.due(now, limit)),
  postpone: (seen, until) => limited(() => port.postpone(seen, until)),
  clearDue: (key) => limited(() => port.clearDue(key)),
  expired: (now, limit) => limited(() => port.expired(now, limit)),
  adopt: (limit) => limited(() => port.adopt(limit)),
})

const limitDeletion = (port: SessionDeletion): SessionDeletion => ({
  tombstone: (key, options) => limited(() => port.tombstone(key, options)),
  removeRows: (key, limit) => limited(() => port.removeRows(key, limit)),
  markRemoved: (key, outputs) => limited(() => port.markRemoved(key, outputs)),
  finish: (key) => limited(() => port.finish(key)),
  state: (key, owner) => limited(() => port.state(key, owner)),
})

const limitOutputs = (port: OutputStore): OutputStore => ({
  put: (key, name, bytes, mediaType) => limited(() => port.put(key, name, bytes, mediaType)),
  read: (key, name, range) => limited(() => port.read(key, name, range)),
  stat: (key, name) => limited(() => port.stat(key, name)),
  link: (key, name, disposition) => limited(() => port.link(key, name, disposition)),
  remove: (key, name) => limited(() => port.remove(key, name)),
  removeAll: (key) => limited(() => port.removeAll(key)),
})

const limitQueue = (port: RunQueue): RunQueue => ({
  send: (hint) => limited(() => port.send(hint)),
  consume: (handle, notice) => port.consume(handle, notice),
})

const limitOutbox = (port: Outbox): Outbox => ({
  add: (key, delivery, state) => limited(() => port.add(key, delivery, state)),
  read: (key) => limited(() => port.read(key)),
  pending: (key, limit, after) => limited(() => port.pending(key, limit, after)),
  change: (seen, change) => limited(() => port.change(seen, change)),
  due: (now, limit) => limited(() => port.due(now, limit)),
  list: (filter) => limited(() => port.list(filter)),
  find: (tenant, kind, id) => limited(() => port.find(tenant, kind, id)),
})

const limitFeedback = (port: MessageFeedback): MessageFeedback => ({
  give: (key, messageId, feedback) => limited(() => port.give(key, messageId, feedback)),
})

const limitReceived = (port: Received): Received => ({
  remember: (tenant, names, value, until) => limited(() => port.remember(tenant, names, value, until)),
  forget: (tenant, names, value) => limited(() => port.forget(tenant, names, value)),
})

const limitNames = (port: SessionNames): SessionNames => ({
  give: (key, name, about, until) => limited(() => port.give(key, name, about, until)),
  find: (tenant, name) => limited(() => port.find(tenant, name)),
})

/** The functions that wrap ports with time limits, by the name of the port. */
const LIMITS = {
  sessions: limitSessions,
  inbox: limitInbox,
  lease: limitLease,
  log: limitLog,
  imports: limitImports,
  reader: limitReader,
  janitor: limitJanitor,
  deletion: limitDeletion,
  outputs: limitOutputs,
  queue: limitQueue,
  outbox: limitOutbox,
  feedback: limitFeedback,
  received: limitReceived,
  names: limitNames,
}

type Limited = { readonly [name in keyof typeof LIMITS]: Parameters<(typeof LIMITS)[name]>[0] }

/**
 * Wraps ports so that each operation has a timeout. A timed-out operation rejects with `storage_failed`, and its
 * outcome is unknown. Used by callers without a lease, because the operations of a lease's holder end with the lease. A
 * port may lack operations of its interface. Ports that are not in `LIMITS` are passed on unchanged.
 */
export function inTime<Ports extends PartsOf<Limited>>(ports: Ports): Ports {
  const wrap = <Name extends keyof Limited>(name: Name): Partial<Limited> => {
    const port = ports[name]
    return port === undefined ? {} : { [name]: (LIMITS[name] as (one: unknown) => Limited[Name])(port) }
  }
  const names = Object.keys(LIMITS) as (keyof Limited)[]
  return Object.assign({}, ports, ...names.map(wrap)) as Ports
}

type PartsOf<All> = { readonly [Name in keyof All]?: Partial<All[Name]> }

import { withMessages } from '../../../../domain/session-messages.ts'
import { prepareImported } from '../runs/replacement-items.ts'
import { TooltrailError } from '../../../../domain/errors.ts'
import {
  progressAfter,
  type ImportName,
  type ImportProgress,
  type ImportStep,
} from '../../../../domain/messages/imported.ts'
import type { SessionHeader, SessionKey } from '../../../../domain/session.ts'
import type { LogImport } from '../../../../ports/log-import.ts'
import { numberAt, textAt, toItem, type Item } from '../../attributes.ts'
import { absent, all, any, below, is, present, together } from '../../expressions.ts'
import { claimKey, headerKey, runKey } from '../../keys.ts'
import type { Action } from '../../table.ts'
import { expiryAfterStep, seconds } from '../sessions/deletion/expiry.ts'
import { openingOfMessages } from '../../../../log/title.ts'
import { listedHeader } from '../sessions/adoption/adoption.ts'
import { activeAt, isLive, live, liveHeader } from '../sessions/header-item.ts'
import { relist } from '../sessions/lists/list-entries.ts'
import { countImported, lastMessageAt, replaceNumbers } from '../sessions/message-numbers.ts'
import { openSession } from '../sessions/opening-item.ts'
import { putMessage, textsOfMessage } from './message-item.ts'
import { CLAIM_MS } from '../runs/claims.ts'
import { putImportedRun, textOfEnd, textsOfRun } from '../runs/run-item.ts'
import { createSessionRows, type DynamoDependencies, type SessionRows } from '../sessions/session-rows.ts'
import { putNumbers } from './source-items.ts'

/** Creates the writes of imports. */
export function createImportWrites(dependencies: DynamoDependencies): LogImport {
  const rows = createSessionRows(dependencies)
  return {
    progress: (key, name) => progress(rows, key, name),
    append: (seen, step) => append(rows, seen, step),
  }
}

async function progress(
  { table, clock }: SessionRows,
  key: SessionKey,
  name: ImportName,
): Promise<ImportProgress | undefined> {
  const [header, claim] = await table.readMany([headerKey(key), claimKey(key, name.keyHash)])
  liveHeader(header, key)
  return progressOf(claim, name, clock.now())
}

function progressOf(claim: Item | undefined, name: ImportName, now: number): ImportProgress | undefined {
  if (claim === undefined || (numberAt(claim, 'until') ?? Infinity) < now) return undefined
  const text = textAt(claim, 'import')
  if (text === undefined || textAt(claim, 'body_hash') !== name.bodyHash)
    throw new TooltrailError('idempotency_conflict', 'the idempotency key was used for another request')
  return JSON.parse(text) as ImportProgress
}

async function append(rows: SessionRows, seen: SessionHeader, step: ImportStep): Promise<ImportProgress | undefined> {
  const { table, clock } = rows
  const now = clock.now()
  const found = await table.read(headerKey(seen))
  if (!isLive(found)) return undefined
  const header = await listedHeader(rows, seen, found)
  const after = progressAfter(step)
  const { replaces } = step
  const replacing = replaces && (await prepareImported(rows, seen, header, replaces.from))
  const numbers = replacing && withMessages(replacing.left, step.messages)
  const list = relist(header, {
    updatedAt: activeAt(header, now),
    lastMessageAt: numbers === undefined ? lastMessageAt(header, step.messages) : numbers.lastAt,
  })
  const opened = openSession(seen, header, openingOfMessages(step.messages))
  const expiry = expiryAfterStep(seen, header, { now, isPartOfCopy: step.isPartOfCopy })
  const refusal = await table.write([
    {
      update: headerKey(seen),
      when: all(
        ...[live, is('gen', seen.generation), absent('lease_until'), absent('active_run'), is('queued', 0)],
        ...[...list.when, ...opened.when],
      ),
      change: together(
        { set: { head: after.last, gen: seen.generation + 1 } },
        numbers === undefined ? countImported(header, step.messages) : replaceNumbers(numbers),
        list.change,
        opened.change,
        expiry.change,
      ),
    },
    ...list.actions,
    ...opened.actions,
    ...(replaces === undefined ? [] : (replacing?.actions(replaces.by) ?? [])),
    ...(await putRuns(rows, seen, step)),
    ...(await putMessages(rows, seen, step)),
    ...(step.name === undefined ? [] : [remember(seen, step.name, after, step.before, now)]),
    ...expiry.actions,
  ])
  if (refusal === undefined) return after
  // The response to an earlier attempt may have been lost. Ids of imported messages are new. So if the log ends with
  // the last of them, the attempt has succeeded.
  const latest = await table.read(headerKey(seen))
  return latest !== undefined && textAt(latest, 'head') === after.last ? after : undefined
}

async function putRuns(
  { bodies }: SessionRows,
  seen: SessionHeader,
  { runs, messages }: ImportStep,
): Promise<Action[]> {
  const texts = await bodies.store(
    seen,
    runs.flatMap(({ run }) => [...textsOfRun(run), textOfEnd(run.id, run)]),
  )
  let since = seen.head
  return runs.map(({ run, isNew }, place) => {
    const before = since
    const last = messages.findLast(({ runId }) => runId === run.id)?.id
    since = last ?? since
    const fields = [texts[place * 2] ?? {}, texts[place * 2 + 1] ?? {}]
    return putImportedRun(runKey(seen, run.id), run, fields, { last, ...(isNew ? { since: before } : {}), isNew })
  })
}

async function putMessages({ bodies }: SessionRows, seen: SessionHeader, { messages }: ImportStep): Promise<Action[]> {
  const texts = messages.map(textsOfMessage)
  const stored = await bodies.store(seen, texts.flat())
  return messages.flatMap((message, place) => [
    putMessage(seen, message, stored.splice(0, texts[place]?.length ?? 0)),
    ...putNumbers(seen, message),
  ])
}

function remember(
  key: SessionKey,
  { keyHash, bodyHash, forGood }: ImportName,
  after: ImportProgress,
  before: ImportProgress | undefined,
  now: number,
): Action {
  const until = now + CLAIM_MS
  const limits = forGood ? {} : { until, expires_at: seconds(until) }
  const fields = { body_hash: bodyHash, run: after.run, import: JSON.stringify(after), count: after.messages }
  const put = toItem({ ...claimKey(key, keyHash), ...fields, ...limits })
  const isPast = all(present('until'), below('until', now))
  return { put, when: before === undefined ? any(absent('pk'), isPast) : is('count', before.messages) }
}

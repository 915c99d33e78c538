import type { Message } from '../../../../domain/messages/message.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import { MAX_NUMBERED_RESULTS, rowsOfNumbers } from '../../../../domain/messages/source.ts'
import type { NumberedSources } from '../../../../domain/messages/source.ts'
import type { LogReader } from '../../../../ports/log-reader.ts'
import { requiredText, toItem } from '../../attributes.ts'
import { all, between, is } from '../../expressions.ts'
import { headerKey, partitionOf, SOURCES_PREFIX, sourcesKey } from '../../keys.ts'
import type { Action } from '../../table.ts'
import { isLive } from '../sessions/header-item.ts'
import type { SessionRows } from '../sessions/session-rows.ts'

const last = ({ from, count }: NumberedSources): number => from + count - 1

/**
 * Returns the actions that store the source numbers of a completion. The numbers are split among several items if one
 * item would exceed 400 KB.
 */
export function putNumbers(key: SessionKey, message: Message): Action[] {
  const numbered = message.role === 'assistant' ? (message.numbered ?? []) : []
  const ordered = numbered.toSorted((one, other) => one.from - other.from)
  return Array.from({ length: rowsOfNumbers(ordered.length) }, (_, row) => {
    const part = ordered.slice(row * MAX_NUMBERED_RESULTS, (row + 1) * MAX_NUMBERED_RESULTS)
    const highest = part.reduce((most, one) => Math.max(most, last(one)), 0)
    return { put: toItem({ ...sourcesKey(key, highest), numbered: JSON.stringify(part) }) }
  })
}

/** Reads a page of a session's source numbers. */
export async function readNumbers(
  { table }: SessionRows,
  key: SessionKey,
  { order, after = 0, limit }: Parameters<LogReader['sources']>[1],
): ReturnType<LogReader['sources']> {
  if (!isLive(await table.read(headerKey(key)))) return { numbered: [], more: false }
  const first = sourcesKey(key, after + 1).sk
  const keys = all(is('pk', partitionOf(key)), between('sk', first, `${SOURCES_PREFIX}~`))
  const found: NumberedSources[] = []
  for await (const item of table.query({ keys, descending: order === 'descending', pageSize: limit + 1 })) {
    const numbered = JSON.parse(requiredText(item, 'numbered')) as NumberedSources[]
    const wanted = numbered.filter((one) => last(one) > after).toSorted((one, other) => one.from - other.from)
    found.push(...(order === 'ascending' ? wanted : wanted.toReversed()))
    if (found.length > limit) break
  }
  return { numbered: found.slice(0, limit), more: found.length > limit }
}

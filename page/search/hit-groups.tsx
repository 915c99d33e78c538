import type { SearchHit } from '../../functions/client/api-types.ts'
import { folderName } from '../sessions/session-facts.ts'
import { titleOf } from '../sessions/session-title.tsx'
import { href } from '../shell/place.ts'
import { timeOrDate, whole } from '../text/times.ts'
import { addressOf, plainText, splitAtMatches } from './plain-snippet.ts'

/** Limit of a hit's `more`: the API counts at most this many further hits. */
export const MAX_MORE = 100

/** Consecutive hits of one session, in the order of the search. */
interface HitGroup {
  readonly first: SearchHit
  readonly hits: readonly SearchHit[]
}

/** Groups consecutive hits of one session. */
function groupBySession(hits: readonly SearchHit[]): readonly HitGroup[] {
  const groups: { first: SearchHit; hits: SearchHit[] }[] = []
  for (const hit of hits) {
    const last = groups.at(-1)
    if (last !== undefined && last.first.session_id === hit.session_id) last.hits.push(hit)
    else groups.push({ first: hit, hits: [hit] })
  }
  return groups
}

/**
 * Shows the hits, each group under the title of its session. `sessionAddress` returns the address of the search within
 * one session.
 */
export function HitGroups(props: {
  readonly hits: readonly SearchHit[]
  readonly sessionAddress: (session: string) => string
}) {
  return (
    <>
      {groupBySession(props.hits).map(({ first, hits }) => (
        <li key={first.message_id + first.role} class="hit-group">
          <GroupHead hit={first} />
          <ul>
            {hits.map((hit) => (
              <Hit key={hit.message_id + hit.role} hit={hit} />
            ))}
          </ul>
          {(first.more ?? 0) === 0 ? null : (
            <a class="more-hits" href={href(props.sessionAddress(first.session_id))}>
              {moreText(first.more ?? 0)} from this session
            </a>
          )}
        </li>
      ))}
    </>
  )
}

const moreText = (more: number): string => (more >= MAX_MORE ? `${MAX_MORE} or more` : `${more} more`)

function GroupHead({ hit: { session_id: session, session_title: title, folder } }: { readonly hit: SearchHit }) {
  return (
    <header class="hit-group-head">
      <h2 class="hit-session" title={session}>
        {titleOf({ title })}
      </h2>
      {folder === undefined ? null : (
        <span class="hit-folder" title={folder}>
          {folderName(folder)}
        </span>
      )}
    </header>
  )
}

function Hit({ hit }: { readonly hit: SearchHit }) {
  return (
    <li class={`hit ${hit.role}`}>
      <a href={href(addressOf(hit))}>
        <header>
          <span class="label">{hit.label.toLowerCase()}</span>
          {hit.tool_name === undefined ? null : <code>{hit.tool_name}</code>}
          {hit.status === undefined || hit.status === 'completed' ? null : (
            <span class={`state ${hit.status}`}>{hit.status}</span>
          )}
          <span class="grow" />
          <time class="quiet" dateTime={hit.created_at} title={whole(hit.created_at)}>
            {timeOrDate(hit.created_at)}
          </time>
        </header>
        <Neighbour of={hit.before} />
        <p class="snippet">
          {splitAtMatches(plainText(hit.snippet, hit.role)).map((piece, index) =>
            index % 2 === 1 ? <mark key={index}>{piece}</mark> : piece,
          )}
        </p>
        <Neighbour of={hit.after} />
      </a>
    </li>
  )
}

const ROLES: { readonly [label: string]: SearchHit['role'] } = {
  USER: 'user',
  ASSISTANT: 'assistant',
  'TOOL CALL': 'tool_call',
  'TOOL RESULT': 'tool_result',
}

function Neighbour({ of }: { readonly of: SearchHit['before'] }) {
  if (of === null) return null
  return (
    <p class="neighbour">
      <span class="label">{of.label.toLowerCase()}</span> {plainText(of.text, ROLES[of.label] ?? 'user')}
    </p>
  )
}

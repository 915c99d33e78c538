import type { Queries } from '../../functions/client/api-types.ts'
import { href } from '../shell/place.ts'
import { utcDay } from '../text/times.ts'

export type Group = NonNullable<NonNullable<Queries['readUsage']>['by']>

interface Props {
  readonly by: Group
  readonly name: string | null
  readonly title?: string | undefined
}

/** Shows the name of a group. A session is a link to its conversation. */
export function GroupName({ by, name, title = name ?? '' }: Props) {
  if (name === null) return <>no {by}</>
  if (by === 'day') return <>{utcDay(name)}</>
  return by === 'session' ? <a href={href(`/sessions/${encodeURIComponent(name)}`)}>{title}</a> : <>{name}</>
}

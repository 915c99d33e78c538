import { z } from 'zod'
import { defineTool } from './define-tool.ts'

const input = z.strictObject({
  timezone: z.string().describe('IANA time zone, such as Europe/Berlin. Left out: UTC.').optional(),
})

/** Returns the time in UTC and, on request, in one time zone. */
export const currentTime = defineTool({
  name: 'current_time',
  description: 'Tells the current date and time, in UTC and optionally in a time zone.',
  input,
  idempotent: true,
  async execute({ timezone }, context) {
    const now = new Date(context.now())
    const utc = now.toISOString()
    return { text: timezone === undefined ? utc : `${utc}\n${inZone(now, timezone)}` }
  },
})

/** Formats the time in a zone, such as `2026-11-22T01:48:20+01:00 Europe/Berlin (Sunday)`. */
function inZone(now: Date, timezone: string): string {
  const parts = new Map(format(now, timezone).map(({ type, value }) => [type, value]))
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? ''
  const offset = part('timeZoneName').replace('GMT', '')
  const date = `${part('year')}-${part('month')}-${part('day')}`
  const time = `${part('hour')}:${part('minute')}:${part('second')}`
  return `${date}T${time}${offset} ${timezone} (${part('weekday')})`
}

function format(now: Date, timeZone: string): Intl.DateTimeFormatPart[] {
  try {
    return new Intl.DateTimeFormat('en-GB', {
      timeZone,
      weekday: 'long',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
      timeZoneName: 'longOffset',
    }).formatToParts(now)
  } catch (error) {
    throw new RangeError(`${timeZone} is not an IANA time zone, such as Europe/Berlin`, { cause: error })
  }
}

import type { UsageEntry } from '../../functions/client/api-types.ts'
import { compact, dollars, tokens } from '../shell/words.ts'

const WIDTH = 900
const HEIGHT = 220
const LEFT = 52
const RIGHT = 10
const BOTTOM = 24
const TOP = 10
const LINES = 4
const DAY_MS = 86_400_000

/** Every day of a period, both ends included. */
export function daysBetween(from: string, to: string): readonly string[] {
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  return Array.from({ length: days }, (_, index) =>
    new Date(Date.parse(from) + index * DAY_MS).toISOString().slice(0, 10),
  )
}

/** A bar for each day: input below, output on top. */
export function DayChart({
  entries,
  days,
}: {
  readonly entries: readonly UsageEntry[]
  readonly days: readonly string[]
}) {
  const byDay = new Map(entries.map((entry) => [entry.key, entry]))
  const sums = days.map((day) => sumOf(byDay.get(day)))
  const most = niceMost(Math.max(1, ...sums.map(({ input, output }) => input + output)))
  const height = (value: number): number => ((HEIGHT - TOP - BOTTOM) * value) / most
  const step = (WIDTH - LEFT - RIGHT) / days.length
  const labelled = Math.ceil(days.length / 10)
  const used = entries.length
  return (
    <>
      <svg
        class="chart"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`Tokens by day: ${used} of ${days.length} days have any, at most ${compact(most)} a day`}
      >
        {Array.from({ length: LINES + 1 }, (_, index) => {
          const y = HEIGHT - BOTTOM - height((most * index) / LINES)
          return (
            <g key={index}>
              <line class="grid" x1={LEFT} x2={WIDTH} y1={y} y2={y} />
              <text class="axis" x={LEFT - 8} y={y + 4} text-anchor="end">
                {compact((most * index) / LINES)}
              </text>
            </g>
          )
        })}
        {days.map((day, index) => {
          const { input, output } = sums[index] ?? { input: 0, output: 0 }
          const x = LEFT + index * step
          const base = HEIGHT - BOTTOM
          return (
            <g key={day} class="day">
              <title>{titleOf(day, byDay.get(day))}</title>
              <rect class="hover" x={x} y={TOP} width={step} height={base - TOP} />
              <rect
                class="input"
                x={x + step * 0.15}
                y={base - height(input)}
                width={step * 0.7}
                height={height(input)}
              />
              <rect
                class="output-bar-part"
                x={x + step * 0.15}
                y={base - height(input + output)}
                width={step * 0.7}
                height={height(output)}
              />
              {(days.length - 1 - index) % labelled === 0 ? (
                <text class="axis" x={x + step / 2} y={HEIGHT - 6} text-anchor="middle">
                  {day.slice(5)}
                </text>
              ) : null}
            </g>
          )
        })}
      </svg>
      <ul class="legend">
        <li>
          <span class="swatch input" /> input
        </li>
        <li>
          <span class="swatch output-bar-part" /> output
        </li>
      </ul>
    </>
  )
}

const sumOf = (entry: UsageEntry | undefined) => ({
  input: entry?.usage.input_tokens ?? 0,
  output: entry?.usage.output_tokens ?? 0,
})

function titleOf(day: string, entry: UsageEntry | undefined): string {
  if (entry === undefined) return `${day}: nothing`
  const { usage, cost_usd: cost } = entry
  const price = cost === undefined ? 'unknown' : dollars(cost)
  return `${day}: ${tokens(usage.input_tokens)} in, ${tokens(usage.output_tokens)} out, cost ${price}`
}

/** The next 1, 2 or 5 with zeros, so that the lines stand at round numbers. */
function niceMost(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most))
  return ([1, 2, 4, 8, 10].find((factor) => factor * power >= most) ?? 10) * power
}

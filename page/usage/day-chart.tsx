import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { UsageEntry } from '../../functions/client/api-types.ts'
import { shortUtcDay, utcDay } from '../text/times.ts'
import { barOf, onScale, scaleOf } from './bars.ts'
import type { Bar, Measure } from './bars.ts'
import { Legend } from './legend.tsx'

const HEIGHT = 220
const LEFT = 56
const RIGHT = 4
const BOTTOM = 24
const TOP = 14
const BASE = HEIGHT - BOTTOM
/**
 * Sizes in pixels: the distance between two labels of days, half the width of a label, and the height of the mark for
 * unknown values.
 */
const DAY_NAMES = 62
const HALF_NAME = 19
const MARK = 7
const DAY_MS = 86_400_000

/** Returns every day of a period, both ends included. */
export function daysBetween(from: string, to: string): readonly string[] {
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  return Array.from({ length: days }, (_, index) =>
    new Date(Date.parse(from) + index * DAY_MS).toISOString().slice(0, 10),
  )
}

interface Props {
  readonly entries: readonly UsageEntry[]
  readonly days: readonly string[]
  readonly measure: Measure
}

/** Shows a bar for each day. It is drawn in pixels, so that text keeps its size on a phone. */
export function DayChart({ entries, days, measure }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const bars = entries.map((entry) => barOf(entry, measure))
  const byDay = new Map(bars.map((bar) => [bar.key, bar]))
  const lines = scaleOf(bars)
  const perUnit = (BASE - TOP) / (lines.at(-1) ?? 1)
  const step = (width - LEFT - RIGHT) / days.length
  const named = Math.ceil(DAY_NAMES / step)
  return (
    <>
      <div ref={box}>
        <svg class="chart" width={width} height={HEIGHT} role="img" aria-label={summaryOf(bars, days, measure)}>
          <defs>
            <pattern id="unknown" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
              <rect class="hatch" width="2.5" height="5" />
            </pattern>
          </defs>
          {lines.map((value) => (
            <g key={value}>
              <line class="grid" x1={LEFT} x2={width} y1={BASE - value * perUnit} y2={BASE - value * perUnit} />
              <text class="axis" x={LEFT - 8} y={BASE - value * perUnit + 4} text-anchor="end">
                {onScale(value, measure)}
              </text>
            </g>
          ))}
          {days.map((day, index) => (
            <g key={day} class="day">
              <title>{`${utcDay(day)}: ${byDay.get(day)?.label ?? 'nothing'}`}</title>
              <rect class="hover" x={LEFT + index * step} y={TOP} width={step} height={BASE - TOP} />
              <Column bar={byDay.get(day)} x={LEFT + (index + 0.15) * step} width={step * 0.7} perUnit={perUnit} />
              {(days.length - 1 - index) % named === 0 ? (
                <text class="axis" x={dayAt(LEFT + (index + 0.5) * step, width)} y={HEIGHT - 6} text-anchor="middle">
                  {shortUtcDay(day)}
                </text>
              ) : null}
            </g>
          ))}
        </svg>
      </div>
      <Legend measure={measure} bars={bars} />
    </>
  )
}

/** Returns the position of a day's label: below its bar, and within the chart. */
const dayAt = (middle: number, width: number): number => Math.min(middle, width - HALF_NAME)

interface ColumnProps {
  readonly bar: Bar | undefined
  readonly x: number
  readonly width: number
  readonly perUnit: number
}

/** Draws the bar of one day from stacked segments. The mark for unknown values is above them. */
function Column({ bar, x, width, perUnit }: ColumnProps) {
  if (bar === undefined) return null
  let y = BASE
  return (
    <>
      {bar.parts.map(({ name, value }) => {
        y -= value * perUnit
        return <rect key={name} class={`used-${name}`} x={x} y={y} width={width} height={value * perUnit} />
      })}
      {bar.hasUnknown ? <rect class="used-unknown" x={x} y={y - MARK} width={width} height={MARK} /> : null}
    </>
  )
}

function summaryOf(bars: readonly Bar[], days: readonly string[], measure: Measure): string {
  const what = measure === 'tokens' ? 'Tokens' : 'Costs'
  const [most] = bars.toSorted((left, right) => right.length - left.length)
  if (most === undefined) return `${what} by day: nothing was used in these ${days.length} days`
  return `${what} by day: ${bars.length} of ${days.length} days have any, most ${most.key === null ? '' : utcDay(most.key)} with ${most.label}`
}

/** Returns the current width of an element, in pixels. The component is rendered again when the width changes. */
function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(600)
  useLayoutEffect(() => {
    const { current } = element
    if (current === null) return undefined
    const observer = new ResizeObserver(() => setWidth(current.clientWidth))
    observer.observe(current)
    setWidth(current.clientWidth)
    return () => observer.disconnect()
  }, [])
  return width
}

/*
 * Each message of a long reply can be read by itself: a table that is split repeats its head, as a fence that is split is opened
 * again. Today the later messages have lines of bars without a head.
 *
 * Suite: test/channels/slack/
 */
import { expect, test } from 'vitest'
import { pieceEnd, renderPiece } from '../../functions/channels/slack/outbound/split-markdown.ts'

function shown(text: string): string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length;) {
    const to = pieceEnd(text, from)
    pieces.push(renderPiece(text, from, to))
    from = to
  }
  return pieces
}

const row = (at: number): string => `| ${at} | host-${at}.example.com | ${'x'.repeat(60)} |\n`
const rows = Array.from({ length: 300 }, (_, at) => row(at)).join('')

function expectHeads(_: string, text: string, head: RegExp): void {
  const pieces = shown(text)
  expect(pieces.length).toBeGreaterThan(1)
  for (const piece of pieces) expect(piece).toMatch(head)
}

test.each([['a fence', `\`\`\`\n${rows}\`\`\`\n`, /^```\n/]] as const)(
  '%s that is split begins with its head again',
  expectHeads,
)
test.fails.each([
  ['a table', `| n | host | note |\n| --- | --- | --- |\n${rows}`, /^\| n \| host \| note \|\n\| --- /],
] as const)('%s that is split begins with its head again', expectHeads)

import { afterEach, expect, test, vi } from 'vitest'
import { createRunPrinter } from '../../functions/cli/run-printer.ts'
import type { Message, RunEvent } from '../../functions/client/api-types.ts'

afterEach(() => vi.restoreAllMocks())

/** Prints events with piped output. Returns the text on standard output. */
function printed(events: readonly unknown[]): string {
  const written: string[] = []
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0)
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const printer = createRunPrinter()
  for (const event of events) printer.show(event as RunEvent)
  return written.join('')
}

const delta = (text: string) => ({ type: 'text.delta', text })
const result: Partial<Message> = { role: 'tool', tool_name: 'work', status: 'completed', parts: [] }
const answer = (text: string) => ({
  type: 'message.completed',
  message: { role: 'assistant', parts: [{ type: 'text', text }] },
})

test('a result that arrives while a text streams does not split the text on piped output', () => {
  const events = [
    delta('One an'),
    { type: 'tool_call.completed', message: result },
    delta('swer.'),
    answer('One answer.'),
  ]
  expect(printed(events)).toBe('One answer.\n')
})

test('the text of a restarted round begins on a new line', () => {
  const restart = { type: 'round.restarted', reason: 'network' }
  expect(printed([delta('Half'), restart, delta('Whole.'), answer('Whole.')])).toBe('Half\nWhole.\n')
})

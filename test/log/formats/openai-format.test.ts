import { describe, expect, it } from 'vitest'
import type { RequestMedia, RequestMessage } from '../../../functions/domain/model-request.ts'
import { toOpenAiMessages } from '../../../functions/log/formats/openai-format.ts'

const text = (words: string) => ({ type: 'text', text: words }) as const
const call = (id: string, raw: string) => ({ type: 'tool_call', id, name: 'shell', arguments: raw }) as const
const image: RequestMedia = {
  type: 'image',
  id: 'o',
  mediaType: 'image/png',
  filename: 'a.png',
  data: new Uint8Array([1, 2]),
}
const one = (message: RequestMessage) => toOpenAiMessages([message])[0]

describe('the Chat Completions format', () => {
  it('puts the instructions first, if there are any', () => {
    expect(toOpenAiMessages([], 'Be brief.')).toEqual([{ role: 'system', content: 'Be brief.' }])
    expect(toOpenAiMessages([])).toEqual([])
  })

  it('writes an input of one text as a string, and other inputs as parts', () => {
    expect(one({ role: 'user', parts: [text('')] })).toEqual({ role: 'user', content: '' })
    expect(one({ role: 'user', parts: [text('a'), text('b')] })).toEqual({
      role: 'user',
      content: [text('a'), text('b')],
    })
  })

  it('sends images as data URLs, text files as text and PDF as files; notes describe other content', () => {
    const file = (mediaType: string): RequestMedia => ({ type: 'file', id: 'o', mediaType, data: new Uint8Array([65]) })
    const { data: _, ...gone } = image
    expect(
      one({ role: 'user', parts: [image, file('text/csv'), file('application/pdf'), file('application/zip'), gone] }),
    ).toEqual({
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AQI=' } },
        text('A'),
        { type: 'file', file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,QQ==' } },
        text('[file (application/zip) cannot be shown here]'),
        text('[a.png (image/png) cannot be shown here]'),
      ],
    })
  })

  it("joins an assistant's text before and after calls, and writes null if there is no text", () => {
    expect(one({ role: 'assistant', parts: [text('a'), call('1', '{"x" :1}'), text('b')] })).toEqual({
      role: 'assistant',
      content: 'ab',
      tool_calls: [{ id: '1', type: 'function', function: { name: 'shell', arguments: '{"x" :1}' } }],
    })
    expect(one({ role: 'assistant', parts: [call('1', 'not json')] })).toMatchObject({
      content: null,
      tool_calls: [{ function: { arguments: 'not json' } }],
    })
  })

  it('sends a tool result as text, with a description in place of each image', () => {
    const parts = [text('here'), image]
    expect(one({ role: 'tool', toolCallId: '1', toolName: 'shell', isError: false, parts })).toEqual({
      role: 'tool',
      tool_call_id: '1',
      content: 'here\n[a.png (image/png) cannot be shown here]',
    })
  })
})

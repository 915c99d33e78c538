import { fc } from '../../generators/seeded.ts'
import { expect, test } from 'vitest'
import { encodeOutput, encodingOf } from '../../../functions/log/formats/output-encoding.ts'

/** Any text, including lone surrogates and byte order marks. */
const anyText = fc.array(fc.oneof(fc.integer({ min: 0, max: 0xff_ff }), fc.constantFrom(0xd8_3d, 0xde_00, 0xfe_ff)))
const decode = ({ bytes, mediaType }: ReturnType<typeof encodeOutput>): string => bytes.toString(encodingOf(mediaType))

test('encoding and decoding any text returns it unchanged, including unpaired surrogates', () => {
  fc.assert(
    fc.property(
      anyText.map((units) => String.fromCharCode(...units)),
      fc.constantFrom('text/plain; charset=utf-8', 'application/json', 'text/html; charset=utf-16le'),
      (text, mediaType) => {
        expect(decode(encodeOutput(text, mediaType))).toBe(text)
      },
    ),
  )
})

test.each([
  ['text/plain; charset=utf-8', 'text/plain; charset=utf-8', 'text/plain; charset=utf-16le'],
  ['application/json', 'application/json', 'application/json; charset=utf-16le'],
  ['text/plain\r\nx-evil: 1', 'text/plain; charset=utf-8', 'text/plain; charset=utf-16le'],
  ['звук/wav', 'text/plain; charset=utf-8', 'text/plain; charset=utf-16le'],
  ['', 'text/plain; charset=utf-8', 'text/plain; charset=utf-16le'],
  [`text/x; y=${'z'.repeat(300)}`, 'text/plain; charset=utf-8', 'text/plain; charset=utf-16le'],
  [`text/x; y=${'z'.repeat(240)}`, `text/x; y=${'z'.repeat(240)}`, 'text/plain; charset=utf-16le'],
  ['text/html; Charset="ISO-8859-1"; x=1', 'text/html; charset=utf-8; x=1', 'text/html; x=1; charset=utf-16le'],
])('the stored media type names the encoding of the bytes: %s', (mediaType, whole, halves) => {
  expect(encodeOutput('é', mediaType).mediaType).toBe(whole)
  expect(encodeOutput('\ud83d', mediaType).mediaType).toBe(halves)
})

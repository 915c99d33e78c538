import { expect, test } from 'vitest'
import { readPreferences } from '../../../../functions/http/v1/runs/response.ts'

test.each([
  [undefined, false, 60_000, undefined],
  ['wait=5', false, 5_000, 'wait=5'],
  ['Wait = "5"; of=us', false, 5_000, 'wait=5'],
  ['wait=241', false, 240_000, 'wait=240'],
  ['wait=soon', false, 60_000, undefined],
  ['respond-async', true, 0, 'respond-async'],
  ['Respond-Async ;x, wait=3', true, 3_000, 'respond-async, wait=3'],
])('the preference %s is read according to RFC 7240', (header, respondAsync, waitMs, applied) => {
  expect(readPreferences(header)).toEqual({ respondAsync, waitMs, applied })
})

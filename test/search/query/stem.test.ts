import { describe, expect, test } from 'vitest'
import { stemOf } from '../../../functions/search/query/stem.ts'

describe('the stem of a word', () => {
  test.each([
    ['caresses', 'caress'],
    ['ponies', 'poni'],
    ['agreed', 'agre'],
    ['plastered', 'plaster'],
    ['bled', 'bled'],
    ['conflated', 'conflat'],
    ['hopping', 'hop'],
    ['falling', 'fall'],
    ['filing', 'file'],
    ['happy', 'happi'],
    ['sky', 'sky'],
    ['relational', 'relat'],
    ['organization', 'organ'],
    ['organizer', 'organ'],
    ['electrical', 'electr'],
    ['adjustment', 'adjust'],
    ['adoption', 'adopt'],
    ['rate', 'rate'],
    ['controll', 'control'],
  ])('%s is %s, as in the published algorithm', (word, stem) => {
    expect(stemOf(word)).toBe(stem)
  })

  test.each(['HAT083', 'x_y', '中文', 'é', 'go'])('%s stays as it is', (word) => {
    expect(stemOf(word)).toBe(word)
  })
})

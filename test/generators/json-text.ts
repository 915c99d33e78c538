import { fc } from './seeded.ts'

const digits = (min: number, max: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: min, maxLength: max }).map((all) => all.join(''))

const whole = fc.oneof(
  fc.constant('0'),
  fc.tuple(fc.integer({ min: 1, max: 9 }), digits(0, 25)).map(([first, rest]) => `${first}${rest}`),
)

/** Numbers of JSON in any spelling: more digits than a number of JavaScript has, zeros at the end, exponents, `-0`. */
export const numberText = fc
  .tuple(
    fc.boolean(),
    whole,
    fc.option(digits(1, 20)),
    fc.option(fc.tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), digits(1, 3))),
  )
  .map(([isNegative, integer, fraction, exponent]) =>
    [isNegative ? '-' : '', integer, fraction === null ? '' : `.${fraction}`, exponent?.join('') ?? ''].join(''),
  )

/** The names of an object: distinct, and unlike array indexes, so that JavaScript keeps their order. */
const names = fc.uniqueArray(
  fc.string({ maxLength: 6, unit: 'grapheme' }).map((name) => `_${name}`),
  { maxLength: 4 },
)
const space = fc.constantFrom('', '', ' ', '\n\t')

/** JSON texts with numbers in any spelling, also inside of strings, and white space in any place. */
export const jsonText: ReturnType<typeof fc.string> = fc.letrec<{ value: string; nested: string }>((tie) => ({
  nested: fc.oneof(
    fc
      .tuple(space, fc.array(tie('value'), { maxLength: 4 }))
      .map(([gap, items]) => `[${gap}${items.join(`${gap},`)}${gap}]`),
    fc
      .tuple(space, names)
      .chain(([gap, keys]) =>
        fc
          .tuple(...keys.map(() => tie('value')))
          .map((values) => `{${gap}${keys.map((key, at) => `${JSON.stringify(key)}:${gap}${values[at]}`).join(',')}}`),
      ),
  ),
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    numberText,
    fc.constantFrom('true', 'false', 'null'),
    fc.oneof(fc.string({ unit: 'binary' }), numberText).map((text) => JSON.stringify(text)),
    tie('nested'),
  ),
})).value

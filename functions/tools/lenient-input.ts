import { z } from 'zod'

const NUMBER = /^\s*[+-]?\d+(?:\.\d+)?\s*$/u

/**
 * Reads arguments as clients and models often write them. An optional parameter that is null or an empty text counts as
 * absent. Numbers may be written as texts. Null in place of all arguments counts as no arguments. Only values that the
 * schema refuses are changed.
 */
export function lenientInput(schema: z.ZodType, input: unknown): unknown {
  if (!(schema instanceof z.ZodObject)) return input
  if (input === null || input === undefined) return {}
  if (typeof input !== 'object' || Array.isArray(input)) return input
  const shape: Readonly<Record<string, z.ZodType>> = schema.shape
  return Object.fromEntries(Object.entries(input).flatMap(([name, value]) => readField(shape, name, value)))
}

/** Returns the field in the form to parse; nothing if it counts as absent. */
function readField(
  shape: Readonly<Record<string, z.ZodType>>,
  name: string,
  value: unknown,
): readonly (readonly [string, unknown])[] {
  const field = Object.hasOwn(shape, name) ? shape[name] : undefined
  if (field === undefined) return value === null ? [] : [[name, value]]
  if (field.safeParse(value).success) return [[name, value]]
  if ((value === null || value === '') && field.safeParse(undefined).success) return []
  if (kindOf(field) === 'number' && typeof value === 'string' && NUMBER.test(value)) return [[name, Number(value)]]
  return [[name, value]]
}

/** Returns the type of a field, without the wrappers for optional fields and defaults. */
function kindOf(field: z.ZodType): string {
  const { type, innerType } = field.def as { readonly type: string; readonly innerType?: z.ZodType }
  return innerType === undefined ? type : kindOf(innerType)
}

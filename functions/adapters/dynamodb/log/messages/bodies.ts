import { sha256 } from '../../../../domain/hash.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import type { OutputStore } from '../../../../ports/output-store.ts'
import { textAt, type Item } from '../../attributes.ts'
import { planSpill } from './spill-plan.ts'

/** A JSON text for this attribute of the row with this id. */
export interface Text {
  readonly id: string
  readonly attribute: TextAttribute
  readonly text: string
}

/** Together these limits leave room in an item of 400 KB for everything else. Bytes of UTF-8. */
const LIMITS = {
  /** What never changes in a row. */
  body: 150 * 1024,
  /** The result of a call. */
  result: 150 * 1024,
  /** What a queued run will say. */
  input: 150 * 1024,
  /** How a run ended. */
  end: 50 * 1024,
  /** A run's notices: what its followers get in addition to its messages. */
  notices: 50 * 1024,
  /** What was decided for the session's requests. */
  context: 250 * 1024,
}
export type TextAttribute = keyof typeof LIMITS

/** The attribute that names the object of a text in the output store. */
const objectOf = (attribute: TextAttribute): string => `${attribute}_object`

/** Attributes that hold a text; the one of the two that is not in use is undefined. */
export type TextFields = Readonly<Record<string, string | undefined>>

/** The attributes of several texts of one item. */
export function joined(texts: readonly TextFields[]): TextFields {
  return Object.fromEntries(texts.flatMap((fields) => Object.entries(fields)))
}

/** Texts of rows: in their items if they fit, otherwise in the output store, where they are written before the row. */
export interface Bodies {
  /** The attributes for each of the texts of one atomic write, in their order. */
  store(key: SessionKey, texts: readonly Text[]): Promise<TextFields[]>
  /** The text of this attribute; undefined when the item has none. */
  read(key: SessionKey, item: Item, attribute: TextAttribute): Promise<string | undefined>
}

/** The names of both attributes of a text: to remove it. */
export const namesOf = (attribute: TextAttribute): string[] => [attribute, objectOf(attribute)]

/** Texts that spill into this store. */
export function createBodies({ outputs }: { readonly outputs: OutputStore }): Bodies {
  return {
    async store(key, texts) {
      const bytes = texts.map(({ text }) => Buffer.byteLength(text))
      const plan = planSpill(
        texts.map(({ attribute }, place) => ({ bytes: bytes[place] ?? 0, limit: LIMITS[attribute] })),
      )
      return Promise.all(
        texts.map(async ({ id, attribute, text }, place) => {
          if (plan[place] !== true) return { [attribute]: text }
          const content = Buffer.from(text)
          // Named by its content, because a row may be written again with another text, and an object never changes.
          const name = `${id}.${attribute}-${sha256(content).slice(0, 16)}`
          await outputs.put(key, name, content, 'application/json')
          return { [objectOf(attribute)]: name }
        }),
      )
    },
    async read(key, item, attribute) {
      const name = textAt(item, objectOf(attribute))
      if (name === undefined) return textAt(item, attribute)
      return Buffer.from(await outputs.read(key, name)).toString()
    },
  }
}

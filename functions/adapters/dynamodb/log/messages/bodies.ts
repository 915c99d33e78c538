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

/**
 * Maximum UTF-8 bytes of each text in an item. An item has at most 400 KB. These limits leave space for all other
 * attributes.
 */
const LIMITS = {
  /** The immutable part of a row. */
  body: 150 * 1024,
  /** The result of a call. */
  result: 150 * 1024,
  /** The input of a queued run. */
  input: 150 * 1024,
  /** The end of a run. */
  end: 50 * 1024,
  /** A run's notices, which its followers get in addition to its messages. */
  notices: 50 * 1024,
  /** The policies' decisions about the session's requests. */
  context: 250 * 1024,
}
export type TextAttribute = keyof typeof LIMITS

/** Returns the attribute for a text that is in the output store. Its value is the name of the text's object. */
const objectOf = (attribute: TextAttribute): string => `${attribute}_object`

/**
 * The two attributes of a text: the text itself, and the name of its object in the output store. One of them is
 * undefined.
 */
export type TextFields = Readonly<Record<string, string | undefined>>

/** Merges the attributes of several texts of one item. */
export function joined(texts: readonly TextFields[]): TextFields {
  return Object.fromEntries(texts.flatMap((fields) => Object.entries(fields)))
}

/**
 * Stores the texts of rows. A text that fits is stored in its row's item, any other in the output store. Objects in the
 * output store are written before the row.
 */
export interface Bodies {
  /** Stores the texts of one atomic write, and returns their attributes in order. */
  store(key: SessionKey, texts: readonly Text[]): Promise<TextFields[]>
  /** Reads the text of this attribute; undefined if the item has none. */
  read(key: SessionKey, item: Item, attribute: TextAttribute): Promise<string | undefined>
}

/** Returns the names of both attributes of a text, for its removal. */
export const namesOf = (attribute: TextAttribute): string[] => [attribute, objectOf(attribute)]

/** Creates the store of texts that spill into this output store. */
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
          // The name contains a hash of the content, because a row may be written again with another text, and an
          // object never changes.
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

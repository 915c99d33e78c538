import type { SessionKey } from '../../../../domain/session.ts'
import type { Opening } from '../../../../log/title.ts'
import { flagAt, textAt, toItem, type Item } from '../../attributes.ts'
import { absent, present } from '../../expressions.ts'
import { detailsKey, openingKey } from '../../keys.ts'
import { NO_WRITE, type HeaderWrite } from './header-write.ts'

export const isOpened = (header: Item): boolean => flagAt(header, 'opened')

/**
 * Returns the write that sets the session's opening; an empty write if the session has one. The title of the
 * opening is stored as `opening_title` of the details. It is the session's title until the details get a `title`.
 */
export function openSession(key: SessionKey, header: Item, opening: Opening | undefined): HeaderWrite {
  if (opening === undefined || isOpened(header)) return NO_WRITE
  return {
    when: [absent('opened')],
    change: { set: { opened: true } },
    actions: [
      { put: toItem({ ...openingKey(key), text: opening.text }) },
      { update: detailsKey(key), when: present('pk'), change: { set: { opening_title: opening.title } } },
    ],
  }
}

/** Returns the text of an opening. */
export const openingText = (item: Item | undefined): string | undefined => item && textAt(item, 'text')

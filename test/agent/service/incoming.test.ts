import { describe, expect, test } from 'vitest'
import { definedFields } from '../../../functions/domain/defined-fields.ts'
import { mediaNote } from '../../../functions/agent/media.ts'

const media = (type: 'image' | 'file', filename?: string) => ({
  type,
  id: 'object',
  mediaType: 'image/png',
  ...definedFields({ filename }),
  bytes: 3,
})

describe('the note about media that are no longer sent', () => {
  test('names a file by its name', () =>
    expect(mediaNote([media('image', 'mystery.png')])).toBe(
      '<system_note>The user added mystery.png to the message, but it is no longer available to view: infer its content from the messages before and after.</system_note>',
    ))

  test.each([
    [[media('image')], 'image 1', 'it is'],
    [[media('file')], 'file 1', 'it is'],
    [[media('image', 'a.png'), media('image', 'b.png')], 'a.png, b.png', 'they are'],
    [[media('image'), media('image')], 'image 1, image 2', 'they are'],
    [[media('image', 'a.png'), media('image')], 'a.png, image 2', 'they are'],
    [[media('file'), media('image'), media('file')], 'file 1, image 1, file 2', 'they are'],
  ])('numbers files without a name, each kind separately: %#', (parts, names, are) =>
    expect(mediaNote(parts)).toContain(`The user added ${names} to the message, but ${are} no longer`),
  )
})

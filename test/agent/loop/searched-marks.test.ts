import { afterEach, describe, expect, test } from 'vitest'
import type { Message } from '../../../functions/domain/messages/message.ts'
import { textOf } from '../../../functions/domain/messages/message.ts'
import { makeTool, openHarness } from '../harness.ts'
import type { Harness, TeamMember } from '../harness.ts'

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})

const tools = [
  makeTool('search_history', async () => ({ text: 'found' })),
  makeTool('echo', async () => ({ text: 'echoed' })),
]
const call = (name: string) => ({ calls: [{ name }] })
const give = (member: string, task = 'look') => ({
  id: `to-${member}`,
  name: 'delegate_task_to_member',
  arguments: JSON.stringify({ member, task }),
})

/** Executes the script. Returns the agent and the text of each message, with a star after marked messages. */
async function marksOf(script: Parameters<typeof openHarness>[0]['script'], team: Record<string, TeamMember>) {
  harness = await openHarness({ script, team, tools })
  await harness.settled(await harness.submit('where is it?'))
  return (await harness.log()).map((message) => `${message.agent} ${saidBy(message)}${isMarked(message) ? ' *' : ''}`)
}

const saidBy = (message: Message): string =>
  message.role === 'tool' ? `${message.toolName} ${textOf(message.parts)}` : textOf(message.parts)
const isMarked = (message: Message): boolean => message.role !== 'user' && message.searched === true

describe('a team that has searched the history', () => {
  test('marks the answers from the searching member up to the leader, over any number of levels', async () => {
    const marks = await marksOf([{ calls: [give('first')] }, { text: 'answer' }], {
      first: { script: [{ calls: [give('second')] }, { text: 'of first' }], members: ['second'] },
      second: { script: [{ calls: [give('third')] }, { text: 'of second' }], members: ['third'] },
      third: { script: [call('search_history'), { text: 'of third' }] },
    })
    expect(marks).toEqual([
      'default where is it?',
      'default ',
      'default delegate_task_to_member of first *',
      'first look',
      'first ',
      'first delegate_task_to_member of second *',
      'second look',
      'second ',
      'second delegate_task_to_member of third *',
      'third look',
      'third  *',
      'third search_history found',
      'third of third *',
      'second of second *',
      'first of first *',
      'default answer *',
    ])
  })

  test('does not mark the answers of another member that works at the same time', async () => {
    const marks = await marksOf([{ calls: [give('finds'), give('works')] }, { text: 'answer' }], {
      finds: { script: [call('search_history'), { text: 'of finds' }] },
      works: { script: [call('echo'), { text: 'of works' }] },
    })
    expect(marks.filter((mark) => mark.startsWith('works ') || mark.includes('of works'))).not.toContainEqual(
      expect.stringContaining('*'),
    )
    expect(marks).toContain('default delegate_task_to_member of finds *')
    expect(marks).toContain('default answer *')
  })

  test('marks the answers of a member whose leader searched before delegating the task', async () => {
    const marks = await marksOf([call('search_history'), { calls: [give('writer')] }, { text: 'answer' }], {
      writer: { script: [{ text: 'of writer' }] },
    })
    expect(marks).toContain('default delegate_task_to_member of writer *')
    expect(marks).toContain('writer of writer *')
  })
})

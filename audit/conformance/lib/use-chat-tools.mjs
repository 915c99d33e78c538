import { check, is } from './checks.mjs'

/** Checks the tools of a page, and approvals, in one version of the AI SDK. */
export async function checkTools(at, { act, waitFor, open, settled, text, last, has, send }, weather) {
  await check(`${at} a tool of the page, by onToolCall and addToolOutput`, async () => {
    const called = []
    const c = open(
      undefined,
      {
        onToolCall: async ({ toolCall }) => {
          called.push(toolCall.toolName)
          const chat = c.chat
          ;(chat.addToolOutput ?? chat.addToolResult)({
            tool: toolCall.toolName,
            toolCallId: toolCall.toolCallId,
            output: 'sunny',
          })
        },
      },
      { tools: [weather] },
    )
    await send(c, 'the weather please')
    await waitFor(() => has(text(last(c)), 'sunny'), { timeout: 15_000 })
    await settled(c)
    is(c.chat.messages.length === 2 && called.length === 1, `${c.chat.messages.length} messages, called ${called}`)
    return last(c)
      .parts.map((p) => p.type)
      .join(' ')
  })
  await check(`${at} a tool of the page, answered later by a person`, async () => {
    const c = open(undefined, {}, { tools: [weather] })
    await send(c, 'the weather please')
    await settled(c)
    const part = last(c).parts.find((p) => p.toolCallId)
    is(part.state === 'input-available', part.state)
    await act(async () => {
      const chat = c.chat
      await (chat.addToolOutput ?? chat.addToolResult)({
        tool: 'get_weather',
        toolCallId: part.toolCallId,
        output: { sky: 'grey' },
      })
    })
    await waitFor(() => has(text(last(c)), 'grey'), { timeout: 15_000 })
    return text(last(c))
  })
  await check(`${at} an error of a tool of the page`, async () => {
    const c = open(undefined, {}, { tools: [weather] })
    await send(c, 'the weather please')
    await settled(c)
    const part = last(c).parts.find((p) => p.toolCallId)
    await act(async () => {
      const chat = c.chat
      await (chat.addToolOutput ?? chat.addToolResult)({
        tool: 'get_weather',
        toolCallId: part.toolCallId,
        state: 'output-error',
        errorText: 'no sky',
      })
    })
    await waitFor(() => has(text(last(c)), 'no sky'), { timeout: 15_000 })
    return text(last(c))
  })
  for (const approved of [true, false])
    await check(`${at} an approval, ${approved ? 'given' : 'denied'}`, async () => {
      const c = open()
      await send(c, '!call e__echo {"message": "hi there"}')
      await settled(c)
      const part = last(c).parts.find((p) => p.approval)
      is(part?.state === 'approval-requested', JSON.stringify(last(c).parts).slice(0, 300))
      await act(async () => {
        await c.chat.addToolApprovalResponse({ id: part.approval.id, approved })
      })
      await waitFor(() => has(text(last(c)), 'done'), { timeout: 15_000 })
      await settled(c)
      is(text(last(c)).includes('Echo: hi there') === approved, text(last(c)))
      return `${text(last(c))} ${last(c)
        .parts.map((p) => p.type + (p.state ? `/${p.state}` : ''))
        .join(' ')}`
    })
}

// The AI SDK's OpenAI providers, in two versions of the SDK, against /openai/v1.
import { join } from 'node:path'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { check, finish, is } from '../lib/checks.mjs'
import { scriptedModel } from '../lib/model.mjs'
import { npmPackages, npmVersions } from '../lib/packages.mjs'
import { program } from '../lib/program.mjs'
// Each group of packages is installed in a separate folder. In one folder, npm would choose older versions that fit all
// groups.
const folders = {
  ai: ['ai', '@ai-sdk/openai', '@ai-sdk/openai-compatible', '@ai-sdk/open-responses', 'zod'],
  ai6: ['ai@6', '@ai-sdk/openai@3', '@ai-sdk/openai-compatible@2', '@ai-sdk/open-responses@1', 'zod'],
}
const dirs = {}
for (const [family, names] of Object.entries(folders)) {
  dirs[family] = npmPackages(`js-${family}`, names)
  console.log(
    `${family}: ${npmVersions(
      dirs[family],
      names.map((n) => n.replace(/(.)@\d+$/, '$1')),
    )}`,
  )
}
let family = 'ai'
const from = async (name) => import(pathToFileURL(createRequire(join(dirs[family], 'x.js')).resolve(name)).href)
const model = await scriptedModel()
const served = await program({ model })
const base = `${served.base}/openai/v1`
let { z } = await from('zod')
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const has = (text, ...parts) => {
  for (const p of parts) is(String(text).includes(p), `${p} is not in ${text}`)
  return text
}

for (const of of ['ai', 'ai6']) {
  family = of
  ;({ z } = await from('zod'))
  const { generateText, streamText, stepCountIs, isStepCount, tool: aiTool, Output } = await from('ai')
  const stop = stepCountIs ?? isStepCount
  const { createOpenAI } = await from('@ai-sdk/openai'),
    { createOpenAICompatible } = await from('@ai-sdk/openai-compatible'),
    { createOpenResponses } = await from('@ai-sdk/open-responses')
  const openaiProvider = createOpenAI({ baseURL: base, apiKey: 'none' })
  const providers = {
    'openai.responses': () => openaiProvider.responses('bare'),
    'openai.chat': () => openaiProvider.chat('bare'),
    'openai-compatible': () => createOpenAICompatible({ name: 'tt', baseURL: base, includeUsage: true })('bare'),
    'open-responses': () => createOpenResponses({ name: 'tt', url: `${base}/responses` })('bare'),
  }
  const tools = {
    get_weather: aiTool({
      description: 'weather',
      inputSchema: z.object({ location: z.string() }),
      execute: async ({ location }) => `sunny in ${location}`,
    }),
  }
  for (const [name, provider] of Object.entries(providers)) {
    const common = { maxRetries: 0 }
    await check(`${of} ${name}: generateText`, async () => {
      const r = await generateText({ ...common, model: provider(), prompt: 'hello' })
      is(r.usage.totalTokens > 0, `usage ${JSON.stringify(r.usage)}`)
      return has(r.text, 'heard')
    })
    await check(`${of} ${name}: streamText`, async () => {
      const r = streamText({ ...common, model: provider(), prompt: 'hello' })
      let text = ''
      for await (const t of r.textStream) text += t
      return `${has(text, 'heard')} ${(await r.usage).totalTokens}`
    })
    await check(`${of} ${name}: tool loop`, async () =>
      has(
        (await generateText({ ...common, model: provider(), prompt: 'the weather please', tools, stopWhen: stop(5) }))
          .text,
        'sunny in San Francisco',
      ),
    )
    await check(`${of} ${name}: streamed tool loop`, async () => {
      const r = streamText({ ...common, model: provider(), prompt: 'the weather please', tools, stopWhen: stop(5) })
      const kinds = new Set()
      for await (const p of r.fullStream ?? r.stream) {
        kinds.add(p.type)
        if (p.type === 'error') throw p.error
      }
      return `${[...kinds].join(' ')} ${has(await r.text, 'sunny')}`
    })
    await check(`${of} ${name}: second turn with the first one's messages`, async () => {
      const messages = [{ role: 'user', content: 'the weather please' }]
      const r = await generateText({ ...common, model: provider(), messages, tools, stopWhen: stop(5) })
      const sent = r.responseMessages ?? r.response.messages
      const r2 = await generateText({
        ...common,
        model: provider(),
        messages: [...messages, ...sent, { role: 'user', content: 'again' }],
        tools,
      })
      return has(r2.text, 'heard 5')
    })
    await check(`${of} ${name}: tools that change between steps`, async () => {
      const both = {
        ...tools,
        say_hola: aiTool({
          description: 'x',
          inputSchema: z.object({ name: z.string() }),
          execute: async ({ name }) => `hola ${name}`,
        }),
      }
      const r = await generateText({
        ...common,
        model: provider(),
        prompt: '!call get_weather {"location": "Oslo"}\n!then say_hola {"name": "Ada"}',
        tools: both,
        stopWhen: stop(5),
        prepareStep: ({ stepNumber }) => ({ activeTools: stepNumber === 0 ? ['get_weather'] : ['say_hola'] }),
      })
      return has(r.text, 'hola Ada')
    })
    await check(`${of} ${name}: reasoning`, async () => {
      const r = await generateText({ ...common, model: provider(), prompt: '!think hello' })
      return `${JSON.stringify(r.reasoningText ?? '')} ${r.text}`
    })
    await check(`${of} ${name}: image`, async () =>
      has(
        (
          await generateText({
            ...common,
            model: provider(),
            messages: [
              {
                role: 'user',
                content: [
                  { type: 'text', text: 'look' },
                  { type: 'image', image: PNG, mediaType: 'image/png' },
                ],
              },
            ],
          })
        ).text,
        'look',
      ),
    )
    await check(
      `${of} ${name}: structured output`,
      async () =>
        (
          await generateText({
            ...common,
            model: provider(),
            prompt: 'x',
            output: Output.object({ schema: z.object({ city: z.string() }) }),
          })
        ).output,
    )
    await check(
      `${of} ${name}: toolChoice required`,
      async () =>
        (await generateText({ ...common, model: provider(), prompt: 'the weather', tools, toolChoice: 'required' }))
          .toolCalls.length,
    )
  }
  await check(`${of} openai.responses: previousResponseId`, async () => {
    const r = await generateText({ maxRetries: 0, model: openaiProvider.responses('bare'), prompt: 'one' })
    const id = r.providerMetadata.openai.responseId
    return has(
      (
        await generateText({
          maxRetries: 0,
          model: openaiProvider.responses('bare'),
          prompt: 'two',
          providerOptions: { openai: { previousResponseId: id } },
        })
      ).text,
      'heard 3',
    )
  })
  await check(`${of} openai.responses: store false, two turns`, async () => {
    const options = { openai: { store: false } },
      messages = [{ role: 'user', content: 'the weather please' }]
    const r = await generateText({
      maxRetries: 0,
      model: openaiProvider.responses('bare'),
      messages,
      tools,
      stopWhen: stop(5),
      providerOptions: options,
    })
    return has(
      (
        await generateText({
          maxRetries: 0,
          model: openaiProvider.responses('bare'),
          messages: [...messages, ...(r.responseMessages ?? r.response.messages), { role: 'user', content: 'again' }],
          tools,
          providerOptions: options,
        })
      ).text,
      'heard 5',
    )
  })
}

await finish('ai-sdk', served.stop, model.close)

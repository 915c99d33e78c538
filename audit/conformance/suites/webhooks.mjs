// Checks the signatures of Standard Webhooks and of GitHub, for received and sent requests. Uses the Python libraries
// standardwebhooks and svix.
import { join } from 'node:path'
import { finish, take } from '../lib/checks.mjs'
import { scriptedModel } from '../lib/model.mjs'
import { freePort, python as programs, run } from '../lib/options.mjs'
import { pipPackages, pipVersions } from '../lib/packages.mjs'
import { agents, program } from '../lib/program.mjs'
const python = pipPackages('webhooks', ['standardwebhooks', 'svix'])
console.log(pipVersions(python, ['standardwebhooks', 'svix']))
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  github = "It's a Secret to Everybody",
  port = await freePort()
const model = await scriptedModel()
const served = await program({
  model,
  env: { HOOK: secret, GH: github, TOOLTRAIL_ALLOWED_HOSTS: `127.0.0.1:${port}` },
  file: agents(
    {},
    {
      webhooks: {
        std: {
          verify: { preset: 'standard', secrets: ['${secret:HOOK}'] },
          text: '{{/type}}: {{/text}}',
          session: 'std-{{header:webhook-id}}',
        },
        gh: {
          verify: { preset: 'github', secrets: ['${secret:GH}'] },
          when: { '/action': ['opened'] },
          text: '{{/issue/title}}',
          session: 'gh-{{/issue/number}}',
        },
      },
      callbacks: { crm: { url: `http://127.0.0.1:${port}/hook`, secret: '${secret:HOOK}' } },
    },
  ),
})
take(
  'python',
  await run(python, [join(programs, 'webhooks.py'), served.base, String(port), secret, github], { limit: 180_000 }),
  [
    [
      /Svix's own header names/,
      'Standard Webhooks names webhook-*; a sender that signs with svix-* alone is not known',
    ],
  ],
)
await finish('webhooks', served.stop, model.close)

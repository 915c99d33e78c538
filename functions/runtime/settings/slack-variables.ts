import * as z from 'zod'

const text = z.string().min(1)
const apiText = 'must be an http or https address that ends with /, as https://slack.com/api/ does'
const secondsText = 'must be above 0 and at most 270: Slack ends streams after 5 minutes'

/** Variables of a Slack app. */
export const slackVariables = {
  SLACK_BOT_TOKEN: text.optional(),
  SLACK_SIGNING_SECRET: text.optional(),
  SLACK_APP_TOKEN: text.optional(),
  SLACK_API_URL: z
    .url({ protocol: /^https?$/, error: apiText })
    .regex(/\/$/, apiText)
    .default('https://slack.com/api/'),
  SLACK_STREAM_SECONDS: z.coerce.number(secondsText).positive(secondsText).max(270, secondsText).default(240),
}

/** Where Slack's Web API is, and the seconds after which a streamed reply goes on in a new message. */
export const slackPlace = (values: { readonly SLACK_API_URL: string; readonly SLACK_STREAM_SECONDS: number }) => ({
  apiUrl: values.SLACK_API_URL,
  streamSeconds: values.SLACK_STREAM_SECONDS,
})

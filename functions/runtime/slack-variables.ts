import * as z from 'zod'

const text = z.string().min(1)

/** Variables of a Slack app. */
export const slackVariables = {
  SLACK_BOT_TOKEN: text.optional(),
  SLACK_SIGNING_SECRET: text.optional(),
  SLACK_APP_TOKEN: text.optional(),
  SLACK_API_URL: z
    .url()
    .regex(/\/$/, 'must end with /, as https://slack.com/api/ does')
    .default('https://slack.com/api/'),
  SLACK_STREAM_SECONDS: z.coerce
    .number()
    .positive()
    .max(270, 'must leave time before the 5 minutes after which Slack ends streams')
    .default(240),
}

/** Where Slack's Web API is, and the seconds after which a streamed reply goes on in a new message. */
export const slackPlace = (values: { readonly SLACK_API_URL: string; readonly SLACK_STREAM_SECONDS: number }) => ({
  apiUrl: values.SLACK_API_URL,
  streamSeconds: values.SLACK_STREAM_SECONDS,
})

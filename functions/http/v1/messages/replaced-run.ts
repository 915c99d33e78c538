import { TooltrailError, type ErrorCode } from '../../../domain/errors.ts'
import { RequestError } from '../../middleware/request-error.ts'

/** For each error that a field of the request causes: the field's path and the status. */
const FIELDS: { readonly [code in ErrorCode]?: { readonly path: string; readonly status: 404 | 409 | 422 } } = {
  run_not_found: { path: 'body.replaces', status: 404 },
  session_busy: { path: 'body.replaces', status: 409 },
  summarised: { path: 'body.replaces', status: 409 },
  nothing_to_send: { path: 'body.content', status: 422 },
}

/**
 * Calls `submit`. If the input replaces a run and `submit` throws an error in `FIELDS`, throws that error with its
 * field and status.
 */
export async function namingFields<Accepted>(
  replaces: string | undefined,
  submit: () => Promise<Accepted>,
): Promise<Accepted> {
  try {
    return await submit()
  } catch (error) {
    const field = error instanceof TooltrailError && replaces !== undefined ? FIELDS[error.code] : undefined
    if (field === undefined || !(error instanceof TooltrailError)) throw error
    const { path, status } = field
    throw new RequestError(status, error.code, error.message, { errors: [{ path, message: error.message }] })
  }
}

import type { Problem } from './api-types.js';
/** An error response of the API. If another program responded, `problem` describes that response in the same shape. */
export declare class ApiProblem extends Error {
    readonly status: number;
    /** The last part of the problem's `type`, such as `session_not_found`. */
    readonly code: string;
    readonly problem: Problem;
    /** Milliseconds to wait before a retry, if the response names a time. */
    readonly retryAfterMs: number | undefined;
    constructor(problem: Problem, retryAfterMs: number | undefined);
}
/** Reads the problem from a response that is not `ok`. */
export declare function problemOf(response: Response): Promise<ApiProblem>;
/** Returns the JSON of an `ok` response. Throws `unexpected_response` for any other body, and for truncated JSON. */
export declare function jsonOf<Result>(response: Response): Promise<Result>;
/**
 * Throws `unexpected_response` for a redirect, because following it loses the method and the key. A browser shows only
 * that a redirect occurred.
 */
export declare function refuseRedirect(response: Response): void;
/** Returns the response if it has this type. Throws `unexpected_response` if another program responded. */
export declare function expectType(response: Response, type: string): Promise<Response>;

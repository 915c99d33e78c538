import type { Problem } from './api-types.js';
/** A refusal of the API, or a response that is none of its own: then `problem` says so in the same shape. */
export declare class ApiProblem extends Error {
    readonly status: number;
    /** The last part of the problem's `type`, such as `session_not_found`. */
    readonly code: string;
    readonly problem: Problem;
    /** Milliseconds after which to try again, if the response said so. */
    readonly retryAfterMs: number | undefined;
    constructor(problem: Problem, retryAfterMs: number | undefined);
}
/** Reads what a response that is not `ok` says. */
export declare function problemOf(response: Response): Promise<ApiProblem>;
/** The JSON of an `ok` response. Throws `unexpected_response` for any other body, and for one that was cut short. */
export declare function jsonOf<Result>(response: Response): Promise<Result>;
/** Throws `unexpected_response` for a redirect: whoever follows it loses the method and the key. In a browser it says nothing else. */
export declare function refuseRedirect(response: Response): void;
/** Returns an `ok` response of this type. Throws `unexpected_response` where something else than the API has responded. */
export declare function expectType(response: Response, type: string): Promise<Response>;

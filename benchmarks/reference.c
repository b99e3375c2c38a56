/* PWM with explicit AVX2 on int8 votes and int16 weights: what Quorate's compiled run is measured against.

   Votes and labels are taken as they are, unchecked. The number of learners is 8 or a multiple of 16. */

#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>

/* The narrow runs go on from a slot, and stop before so many mistakes that a weight could leave 16 bits. `w` holds the
   weights of the learners, `bias` that of the virtual one. They give the slot that comes next. */
#define NARROW                                                                                                    \
    const int8_t *votes, const int8_t *labels, int8_t *decisions, int64_t slot, int64_t n, int64_t room, int16_t *w, \
        int32_t *bias_at

static inline int32_t sum4(__m128i sums) {
    sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0x4e));
    sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, 0xb1));
    return _mm_cvtsi128_si32(sums);
}

static inline int32_t sum8(__m256i sums) {
    return sum4(_mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1)));
}

static int64_t run8(NARROW) {
    __m128i weights = _mm_loadu_si128((const __m128i *)w);
    int32_t bias = *bias_at;
    for (; slot < n && room > 0; slot++) {
        __m128i v = _mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)(votes + 8 * slot)));
        int32_t label = labels[slot], decision = bias + sum4(_mm_madd_epi16(weights, v)) >= 0 ? 1 : -1;
        decisions[slot] = (int8_t)decision;
        if (decision != label) {
            room--;
            bias += label;
            weights = _mm_add_epi16(weights, _mm_sign_epi16(v, _mm_set1_epi16((int16_t)label)));
        }
    }
    _mm_storeu_si128((__m128i *)w, weights);
    *bias_at = bias;
    return slot;
}

static int64_t run16(NARROW) {
    __m256i weights = _mm256_loadu_si256((const __m256i *)w);
    int32_t bias = *bias_at;
    for (; slot < n && room > 0; slot++) {
        __m256i v = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(votes + 16 * slot)));
        int32_t label = labels[slot], decision = bias + sum8(_mm256_madd_epi16(weights, v)) >= 0 ? 1 : -1;
        decisions[slot] = (int8_t)decision;
        if (decision != label) {
            room--;
            bias += label;
            weights = _mm256_add_epi16(weights, _mm256_sign_epi16(v, _mm256_set1_epi16((int16_t)label)));
        }
    }
    _mm256_storeu_si256((__m256i *)w, weights);
    *bias_at = bias;
    return slot;
}

static int64_t run_many(NARROW, int64_t k) {
    int32_t bias = *bias_at;
    for (; slot < n && room > 0; slot++) {
        const int8_t *row = votes + k * slot;
        __m256i one = _mm256_setzero_si256(), two = one;
        int64_t place = 0;
        for (; place + 32 <= k; place += 32) {
            __m256i v = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(row + place)));
            one = _mm256_add_epi32(one, _mm256_madd_epi16(_mm256_load_si256((const __m256i *)(w + place)), v));
            v = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(row + place + 16)));
            two = _mm256_add_epi32(two, _mm256_madd_epi16(_mm256_load_si256((const __m256i *)(w + place + 16)), v));
        }
        if (place < k) {
            __m256i v = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(row + place)));
            one = _mm256_add_epi32(one, _mm256_madd_epi16(_mm256_load_si256((const __m256i *)(w + place)), v));
        }
        int32_t label = labels[slot], decision = bias + sum8(_mm256_add_epi32(one, two)) >= 0 ? 1 : -1;
        decisions[slot] = (int8_t)decision;
        if (decision != label) {
            room--;
            bias += label;
            __m256i sign = _mm256_set1_epi16((int16_t)label);
            for (place = 0; place < k; place += 16) {
                __m256i v = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(row + place)));
                __m256i *at = (__m256i *)(w + place);
                _mm256_store_si256(at, _mm256_add_epi16(_mm256_load_si256(at), _mm256_sign_epi16(v, sign)));
            }
        }
    }
    *bias_at = bias;
    return slot;
}

/* The same with 32-bit weights, from a slot on. */
static void run_wide(const int8_t *votes, const int8_t *labels, int8_t *decisions, int64_t slot, int64_t n, int64_t k,
                     int32_t *weights) {
    int32_t *w = weights + 1;
    for (; slot < n; slot++) {
        const int8_t *row = votes + k * slot;
        __m256i sums = _mm256_setzero_si256();
        for (int64_t place = 0; place < k; place += 8) {
            __m256i v = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(row + place)));
            sums = _mm256_add_epi32(sums, _mm256_sign_epi32(_mm256_loadu_si256((const __m256i *)(w + place)), v));
        }
        int32_t label = labels[slot], decision = weights[0] + sum8(sums) >= 0 ? 1 : -1;
        decisions[slot] = (int8_t)decision;
        if (decision != label) {
            weights[0] += label;
            __m256i sign = _mm256_set1_epi32(label);
            for (int64_t place = 0; place < k; place += 8) {
                __m256i v = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(row + place)));
                __m256i *at = (__m256i *)(w + place);
                _mm256_storeu_si256(at, _mm256_add_epi32(_mm256_loadu_si256(at), _mm256_sign_epi32(v, sign)));
            }
        }
    }
}

/* Run PWM from weights of 0: `weights` has room for a bias and k more. */
void pwm(const int8_t *votes, const int8_t *labels, int8_t *decisions, int64_t n, int64_t k, int32_t *weights) {
    int16_t *w = aligned_alloc(64, (size_t)((2 * k + 63) / 64 * 64));
    for (int64_t place = 0; place < k; place++) w[place] = 0;
    int64_t slot = 0, room = 32767;
    weights[0] = 0;
    while (slot < n && room > 1024) {
        slot = k == 8    ? run8(votes, labels, decisions, slot, n, room, w, weights)
               : k == 16 ? run16(votes, labels, decisions, slot, n, room, w, weights)
                         : run_many(votes, labels, decisions, slot, n, room, w, weights, k);
        room = 32767;
        for (int64_t place = 0; place < k; place++)
            if (32767 - abs(w[place]) < room) room = 32767 - abs(w[place]);
    }
    for (int64_t place = 0; place < k; place++) weights[place + 1] = w[place];
    free(w);
    run_wide(votes, labels, decisions, slot, n, k, weights);
}

/* Read an array and do as little as can be done with it: what memory allows. */
int64_t read_all(const int8_t *votes, int64_t n_bytes) {
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    int64_t at = 0;
    for (; at + 128 <= n_bytes; at += 128) {
        a = _mm256_xor_si256(a, _mm256_loadu_si256((const __m256i *)(votes + at)));
        b = _mm256_xor_si256(b, _mm256_loadu_si256((const __m256i *)(votes + at + 32)));
        c = _mm256_xor_si256(c, _mm256_loadu_si256((const __m256i *)(votes + at + 64)));
        d = _mm256_xor_si256(d, _mm256_loadu_si256((const __m256i *)(votes + at + 96)));
    }
    __m256i all = _mm256_xor_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(c, d));
    int64_t folded = sum8(all);
    for (; at < n_bytes; at++) folded ^= votes[at];
    return folded;
}

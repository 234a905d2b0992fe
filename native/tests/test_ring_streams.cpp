// ChaCha20 against the vectors of RFC 8439, and what is sampled from its streams against the words
// themselves.
#include <bit>
#include <cstring>

#include "ring_cases.hpp"

namespace {

using namespace hekat;
using hekat::ring::Kernels;
using hekat::ring::Key;
using hekat::ring::Prime;
using hekat::test::check;
using hekat::test::Limbs;

using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const std::string& hex) {
    Bytes bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        bytes.push_back(
            static_cast<std::uint8_t>(16 * test::hex_digit(hex[i]) + test::hex_digit(hex[i + 1])));
    }
    return bytes;
}

Bytes key_stream(CpuPath path, const Bytes& key, const Bytes& nonce, std::uint32_t counter,
                 std::size_t byte_count) {
    std::array<std::uint32_t, 3> words{};
    std::memcpy(words.data(), nonce.data(), ring::kNonceBytes);
    ThreadPool pool(2, [] { return true; });
    Bytes out(byte_count);
    ring::write_key_stream(pool, path, out.data(), Key(key.data()).stream(words), counter, byte_count);
    return out;
}

const std::string kZeros(64, '0');
const std::string kCounting = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

struct Vector {
    const char* section;
    std::string key;
    std::string nonce;
    std::uint32_t counter;
    std::string stream;
};

const Vector kVectors[] = {
    {"2.3.2", kCounting, "000000090000004a00000000", 1,
     "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
     "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"},
    {"A.1, 1", kZeros, kZeros.substr(40), 0,
     "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
     "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"},
    {"A.1, 2", kZeros, kZeros.substr(40), 1,
     "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
     "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"},
    {"A.1, 3", kZeros.substr(2) + "01", kZeros.substr(40), 1,
     "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
     "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0"},
    {"A.1, 4", "00ff" + kZeros.substr(4), kZeros.substr(40), 2,
     "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
     "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096"},
    {"A.1, 5", kZeros, kZeros.substr(42) + "02", 0,
     "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
     "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d"},
};

// Section 2.4.2: the message's bytes and what they are enciphered to.
const std::string kMessage =
    "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen "
    "would be it.";
const std::string kEnciphered =
    "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b"
    "f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8"
    "07ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736"
    "5af90bbf74a35be6b40b8eedf2785e42874d";

void test_vectors(CpuPath path) {
    for (const Vector& vector : kVectors) {
        check(key_stream(path, bytes_of(vector.key), bytes_of(vector.nonce), vector.counter, 64) ==
                  bytes_of(vector.stream),
              std::string("RFC 8439, ") + vector.section + ", path " + name_of(path));
    }
    Bytes enciphered =
        key_stream(path, bytes_of(kCounting), bytes_of("000000000000004a00000000"), 1, kMessage.size());
    for (std::size_t i = 0; i < kMessage.size(); ++i) {
        enciphered[i] = static_cast<std::uint8_t>(enciphered[i] ^ static_cast<std::uint8_t>(kMessage[i]));
    }
    check(enciphered == bytes_of(kEnciphered), std::string("RFC 8439, 2.4.2, path ") + name_of(path));
}

// Of any length, from any block on: the same bytes as block by block.
void test_lengths(CpuPath path) {
    const Bytes key = bytes_of(kCounting);
    const Bytes nonce = bytes_of("000000090000004a00000000");
    const std::uint32_t last = ~std::uint32_t{0} - 200;
    Bytes whole;
    for (std::uint32_t block = 0; block < 200; ++block) {
        const Bytes one = key_stream(CpuPath::kPortable, key, nonce, last + block, 64);
        whole.insert(whole.end(), one.begin(), one.end());
    }
    for (const std::size_t count : {1, 63, 64, 65, 1023, 1024, 1025, 4095, 4096, 4097, 12800}) {
        check(key_stream(path, key, nonce, last, count) ==
                  Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(count)),
              "a stream's first " + std::to_string(count) + " bytes");
    }
}

Limbs words_of(const ring::Stream& stream, std::size_t count) {
    Bytes bytes(count * sizeof(Limb));
    ring::kernels_of(CpuPath::kPortable)
        .key_stream(bytes.data(), stream, 0, bytes.size() / ring::kBlockBytes);
    Limbs words(count);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
}

void test_uniform(CpuPath path) {
    const Key key = test::make_key(1);
    for (const std::size_t degree : {1024, 2048, 4096, 8192}) {
        std::vector<Limb> primes = test::end_primes(degree);
        primes.push_back(
            test::find_prime((Limb{1} << 43) - (Limb{1} << 36), degree, false));  // rare rejection
        for (const Limb p : primes) {
            const Prime prime = test::make_prime(p, degree, path);
            const ring::Stream stream = key.stream(1, Limb{5} << 33);
            Limbs expected;
            for (const Limb word : words_of(stream, 3 * degree)) {
                const Limb masked = word & ((Limb{1} << prime.bits) - 1);
                if (masked < p && expected.size() < degree) expected.push_back(masked);
            }
            Limbs a(degree);
            ring::kernels_of(path).sample_uniform(a.data(), prime, stream);
            check(a == expected,
                  "uniform residues, degree " + std::to_string(degree) + ", p " + std::to_string(p));
        }
    }
}

void test_cbd(CpuPath path) {
    const Key key = test::make_key(2);
    for (const std::size_t count : {1, 100, 128, 129, 1024, 2000, 8192}) {
        const std::size_t room = (count + 127) / 128 * 128;
        const ring::Stream stream = key.stream(Key::kCbd, count);
        const Limbs words = words_of(stream, room);
        std::vector<std::int8_t> e(room);
        ring::kernels_of(path).sample_cbd(e.data(), count, stream);
        bool holds = true;
        for (std::size_t i = 0; i < count; ++i) {
            constexpr Limb kMask = (1U << 21) - 1;
            holds = holds && e[i] == std::popcount(words[i] & kMask) - std::popcount(words[i] >> 21 & kMask);
        }
        check(holds, "centred binomial numbers, " + std::to_string(count));
    }
}

}  // namespace

int main() {
    for (const CpuPath path : test::ring_paths()) {
        test_vectors(path);
        test_lengths(path);
        test_uniform(path);
        test_cbd(path);
    }
    return test::verdict();
}
